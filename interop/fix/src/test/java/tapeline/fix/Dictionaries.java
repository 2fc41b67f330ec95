package tapeline.fix;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import javax.xml.transform.TransformerException;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.dom.DOMSource;
import javax.xml.transform.stream.StreamResult;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.Node;
import org.xml.sax.SAXException;

/**
 * QuickFIX/J's own dictionaries, with what the exchange has and they lack. Everything else of them holds: a tag that
 * a message may not have, a value that is not listed or a required tag that is missing makes the client refuse it.
 */
final class Dictionaries {
    /** The files, made once for the process. */
    static final Path APPLICATION = write(application());

    static final Path TRANSPORT = write(transport());

    private final Document document;

    private Dictionaries(String name) {
        try (InputStream file = Dictionaries.class.getClassLoader().getResourceAsStream(name)) {
            document = DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(file);
        } catch (IOException | SAXException | ParserConfigurationException e) {
            throw new IllegalStateException(name, e);
        }
    }

    private static Dictionaries application() {
        return new Dictionaries("FIX50SP2.xml")
                // Restated: an iceberg shows another part.
                .value("ExecRestatementReason", "100")
                // GFS, AVD, AVC.
                .value("TimeInForce", "C", "D", "E")
                // Groups of orders, of all instruments and of one: more than one character.
                .type("MassCancelRequestType", "STRING").value("MassCancelRequestType", "56", "57")
                .type("MassCancelResponse", "STRING").value("MassCancelResponse", "56", "57")
                // Trades at the closing price, of a request for quotes.
                .value("TrdType", "67", "99")
                .define("RefTagID", 371, "INT").allow("BusinessMessageReject", "RefTagID")
                .allow("OrderMassCancelReport", "ApplID")
                .optional("OrderMassCancelReport", "OrderID")
                // MiFID II: what a party is, and direct electronic access.
                .define("PartyRoleQualifier", 2376, "INT").member("Parties", "NoPartyIDs", "PartyRoleQualifier")
                .define("OrderOrigination", 1724, "INT").allow("ExecutionReport", "OrderOrigination")
                // Regular trading, or at the closing price.
                .allow("ExecutionReport", "TrdType")
                // Short codes of persons and algorithms, and who decided.
                .value("PartyIDSource", "P").value("PartyRole", "122")
                // The number that market data has for the order.
                .allow("ExecutionReport", "MDEntryID");
    }

    private static Dictionaries transport() {
        return new Dictionaries("FIXT11.xml")
                // Logged out: other, session-level failure, by operations.
                .value("SessionStatus", "100", "101", "102");
    }

    private Element find(String kind, String name) {
        var all = document.getElementsByTagName(kind);
        for (int at = 0; at < all.getLength(); at++) {
            Element element = (Element) all.item(at);
            boolean isDefinition = !element.hasAttribute("required");
            if (isDefinition && element.getAttribute("name").equals(name)) {
                return element;
            }
        }
        throw new IllegalStateException("no " + kind + " " + name);
    }

    private Element add(Element parent, String kind) {
        return (Element) parent.appendChild(document.createElement(kind));
    }

    private Dictionaries value(String field, String... values) {
        for (String value : values) {
            Element element = add(find("field", field), "value");
            element.setAttribute("enum", value);
            element.setAttribute("description", "EXCHANGE_" + value);
        }
        return this;
    }

    private Dictionaries type(String field, String type) {
        find("field", field).setAttribute("type", type);
        return this;
    }

    private Dictionaries define(String field, int number, String type) {
        Element element = add((Element) document.getElementsByTagName("fields").item(0), "field");
        element.setAttribute("number", Integer.toString(number));
        element.setAttribute("name", field);
        element.setAttribute("type", type);
        return this;
    }

    private Dictionaries allow(String message, String field) {
        Element element = add(find("message", message), "field");
        element.setAttribute("name", field);
        element.setAttribute("required", "N");
        return this;
    }

    private Dictionaries member(String component, String group, String field) {
        var all = find("component", component).getElementsByTagName("group");
        for (int at = 0; at < all.getLength(); at++) {
            Element element = (Element) all.item(at);
            if (element.getAttribute("name").equals(group)) {
                Element member = document.createElement("field");
                member.setAttribute("name", field);
                member.setAttribute("required", "N");
                // Behind the role: groups are in order.
                Node role = element.getFirstChild();
                while (!(role instanceof Element of && of.getAttribute("name").equals("PartyRole"))) {
                    role = role.getNextSibling();
                }
                element.insertBefore(member, role.getNextSibling());
                return this;
            }
        }
        throw new IllegalStateException(component + " has no group " + group);
    }

    private Dictionaries optional(String message, String field) {
        for (Node node = find("message", message).getFirstChild(); node != null; node = node.getNextSibling()) {
            if (node instanceof Element element && element.getAttribute("name").equals(field)) {
                element.setAttribute("required", "N");
                return this;
            }
        }
        throw new IllegalStateException(message + " has no " + field);
    }

    private static Path write(Dictionaries dictionary) {
        try {
            Path file = Files.createTempFile("tapeline-fix", ".xml");
            file.toFile().deleteOnExit();
            TransformerFactory.newInstance()
                    .newTransformer()
                    .transform(new DOMSource(dictionary.document), new StreamResult(file.toFile()));
            return file;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (TransformerException e) {
            throw new IllegalStateException(e);
        }
    }
}
