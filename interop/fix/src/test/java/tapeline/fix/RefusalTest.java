package tapeline.fix;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import quickfix.Message;

/** What the exchange does not take, and how it says so. */
class RefusalTest {
    private static final String THROTTLE = """
            [gateway]
            throttle-per-s = 50
            throttle-seconds = 2
            """;

    private static final String[] USERS = {
        "WRONG", "VALUES", "DOUBLE", "SECOND", "TWICE", "THROTTLE", "BARE", "MARKET", "UNKNOWN", "TYPES", "CHANGES",
        "PATIENT"
    };

    private static Exchange exchange;

    @RegisterExtension
    final Logs logs = new Logs(() -> exchange);

    @BeforeAll
    static void start() {
        exchange = Exchange.start(THROTTLE + Market.open(USERS));
    }

    @AfterAll
    static void stop() {
        exchange.close();
    }

    private static Client client(String name) {
        return new Client(exchange.port(), name, Market.PASSWORD);
    }

    @Test
    void aWrongPasswordIsNotLetIn() {
        try (Client client = new Client(exchange.port(), "WRONG", "guessed").connect()) {
            client.awaitDisconnect();
            assertEquals(0, client.admin().all(message -> Fields.type(message).equals("A")).size());
        }
        // Nor somebody who is not known, or who wants another gateway.
        try (Client client = new Client(exchange.port(), "NOBODY", Market.PASSWORD).connect()) {
            client.awaitDisconnect();
            assertEquals(List.of(), client.received().all());
        }
        // And it does no harm to the one whose name it was.
        try (Client client = client("WRONG").logOn()) {
            client.order(Request.buy("W1", 10).limit("90.00")).await("0/0");
        }
    }

    @Test
    void whoeverWasRefusedAndCountedItIsLetInLater() {
        try (Client client = client("PATIENT").with("HeartBtInt", "100000")) {
            for (int time = 0; time < 3; time++) {
                int from = client.admin().size();
                client.connect();
                Message refusal = client.admin().awaitFrom(from, "a logout", all -> Fields.type(all).equals("5"));
                assertEquals("101", Fields.of(refusal, 1409));
                assertEquals("1", Fields.ofHeader(refusal, 34));
                client.awaitDisconnect();
                client.drop();
            }
            client.with("HeartBtInt", "30").logOn();
            client.order(Request.buy("P1", 10).limit("90.00")).await("0/0");
        }
    }

    @Test
    void whatComesBeforeTheLogonEndsTheConnectionSilently() {
        try (Raw raw = new Raw(exchange.port(), "BARE")) {
            raw.send("D", 1, "11=X|48=1|22=8|54=1|38=10|40=1|60=" + Raw.now() + "|");
            assertEquals("", raw.next());
        }
        try (Raw raw = new Raw(exchange.port(), "BARE")) {
            raw.bytes("GET / HTTP/1.1\r\n\r\n");
            assertEquals("", raw.next());
        }
    }

    @Test
    void aSecondLogonOfTheSameConnectionIsRefusedAndTheNumbersGoOn() {
        try (Client client = client("TWICE").logOn()) {
            Message logon = new Message();
            logon.getHeader().setString(35, "A");
            logon.setInt(98, 0);
            logon.setInt(108, 30);
            logon.setString(1137, "9");
            client.send(logon);
            Message reject = client.admin().await("a reject", message -> Fields.type(message).equals("3"));
            assertEquals("2", Fields.of(reject, 45));
            assertEquals("A", Fields.of(reject, 372));
            client.order(Request.buy("T1", 10).limit("90.00")).await("0/0");
        }
    }

    @Test
    void aSecondConnectionOfTheSameUserIsClosedAndTheFirstGoesOn() {
        try (Client client = client("SECOND").logOn()) {
            try (Raw raw = new Raw(exchange.port(), "SECOND")) {
                raw.logOn(1, 30, Market.PASSWORD);
                assertFalse(raw.next().contains("|35=A|"));
            }
            client.order(Request.buy("S1", 10).limit("90.00")).await("0/0");
        }
    }

    @Test
    void aTagThatComesTwiceEndsTheConnection() {
        try (Raw raw = new Raw(exchange.port(), "DOUBLE")) {
            raw.logOn(1, 30, Market.PASSWORD);
            raw.next("A");
            raw.send("0", 2, "112=A|112=B|");
            String said = raw.next();
            assertTrue(said.isEmpty() || said.contains("|35=5|"), said);
        }
    }

    @Test
    void anOrderThatCannotBeIsRefusedByTheMarket() {
        try (Client client = client("MARKET").logOn()) {
            Message tick = client.order(Request.buy("M1", 10).limit("90.01")).await("8/8");
            assertEquals("99", Fields.of(tick, 103), "other");
            assertTrue(Fields.of(tick, 58).startsWith("20002"), "says why: " + Fields.of(tick, 58));
            Request over = Request.buy("M2", 10).limit("90.00").timeInForce("6").with(126, "20200101-00:00:00");
            client.order(over).await("8/8");
            client.order(Request.buy("M3", 10).limit("90.00").with(27010, "99").timeInForce("3")).await("8/8");
            // Until it is cancelled: not where it is not configured.
            client.order(Request.buy("M4", 10).limit("90.00").timeInForce("1")).await("8/8");
        }
    }

    @Test
    void aRequestWithoutWhatItNeedsOrWithWhatThereIsNotIsRefusedByItsTag() {
        try (Client client = client("VALUES").logOn()) {
            refused(client, Request.buy("V1", 10).limit("90.00").without(48), 48);
            refused(client, Request.buy("V2", 10).limit("90.00").without(453), 453);
            refused(client, Request.buy("V3", 10).limit("90.00").without(60), 60);
            refused(client, Request.buy("V4", 10).limit("90.00").with(54, "7"), 54);
            refused(client, Request.buy("V5", 10).limit("90.00").with(59, "8x"), 59);
            refused(client, Request.buy("V6", 10).limit("90.00").with(38, "ten"), 38);
            refused(client, Request.buy("V7", 10).limit("90.00").with(22, "4"), 22);
            refused(client, Request.buy("V8", 10).limit("90.00").with(20999, "1"), 20999);
            client.order(Request.buy("V9", 10).limit("90.00")).await("0/0");
        }
    }

    /** By a reject of the session or of the application, which names the message and the tag. */
    private static void refused(Client client, Request request, int tag) {
        int number = client.session().getExpectedSenderNum();
        client.send(request);
        String reject = client.received().await("a reject of " + request.name(), text ->
                (text.contains("|35=3|") || text.contains("|35=j|")) && text.contains("|45=" + number + "|"));
        assertTrue(reject.contains("|371=" + tag + "|"), reject);
        assertTrue(reject.contains("|372=D|"), reject);
    }

    @Test
    void aTypeOfMessageThatIsNotOfferedIsRefused() {
        try (Client client = client("TYPES").logOn()) {
            Message request = new Message();
            request.getHeader().setString(35, "H");
            request.setString(11, "H1");
            request.setString(48, "1");
            request.setString(54, "1");
            client.send(request);
            Message reject = client.application().await("a reject", message -> Fields.type(message).equals("j"));
            assertEquals("H", Fields.of(reject, 372));
            assertEquals("3", Fields.of(reject, 380), "unsupported");
            assertEquals("2", Fields.of(reject, 45));
        }
    }

    @Test
    void aNewPasswordHasToBeAGoodOne() {
        try (Client client = client("CHANGES").logonWith(logon -> logon.setString(925, "short")).logOn()) {
            assertEquals("3", status(client, 0), "refused, and let in with the old one");
            client.logOut();
            client.logonWith(logon -> logon.setString(925, "much-b3tter")).logOn();
            assertEquals("0", status(client, 1));
            client.logOut();
            client.logonWith(logon -> {}).withPassword("much-b3tter").logOn();
            assertEquals("0", status(client, 2));
            client.logOut();
        }
        try (Client client = client("CHANGES").connect()) {
            client.awaitDisconnect();
            assertEquals(List.of(), client.received().all(), "the old one is good no more");
        }
    }

    private static String status(Client client, int logon) {
        return Fields.of(client.admin().all(message -> Fields.type(message).equals("A")).get(logon), 1409);
    }

    @Test
    void anUnknownInstrumentIsRefusedByItsApplication() {
        try (Client client = client("UNKNOWN").logOn()) {
            client.send(Request.buy("U1", 10).limit("90.00").instrument(77));
            Message reject = client.application().await("a reject", message -> Fields.type(message).equals("j"));
            assertEquals("D", Fields.of(reject, 372));
            assertEquals("2", Fields.of(reject, 380), "unknown security");
        }
    }

    @Test
    void whoSendsTooMuchIsToldAndThenLoggedOut() {
        try (Client client = client("THROTTLE").logOn()) {
            long end = System.nanoTime() + Inbox.PATIENCE.toNanos();
            // As fast as it goes, until it is too much for too long.
            for (int at = 0; client.session().isLoggedOn() && isMissing(client, "5") && System.nanoTime() < end; at++) {
                client.session().send(Request.buy("T" + at, 10).limit("90.00").message());
                if (at % 200 == 199) {
                    awaitAnswers(client, at);
                }
            }
            Message told = client.application().await("a throttle", message -> Fields.is(message, "j", 380, "0"));
            assertEquals("Message rate exceeded", Fields.of(told, 58));
            Message logout = client.admin().await("a logout", message -> Fields.type(message).equals("5"));
            assertEquals("102", Fields.of(logout, 1409));
            client.awaitDisconnect();
        }
    }

    private static boolean isMissing(Client client, String type) {
        return client.admin().all(message -> Fields.type(message).equals(type)).isEmpty();
    }

    /** The client does not run further ahead of the exchange than this. */
    private static void awaitAnswers(Client client, int at) {
        client.application().awaitAll("answers", all -> all.size() > at - 200 || !isMissing(client, "5"));
    }
}
