package tapeline.fix;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import quickfix.DataDictionary;
import quickfix.FieldException;
import quickfix.FieldNotFound;
import quickfix.IncorrectTagValue;
import quickfix.Message;

/** The dictionaries of the other tests refuse what neither FIX nor the exchange has: their silence says something. */
class DictionaryTest {
    private static final String REPORT =
            "8=FIXT.1.1|9=0|35=8|49=FGW|56=ANN|34=2|52=20261126-12:00:00|37=X|17=Y|150=D|39=0|48=1|22=8|54=1|38=10|"
                    + "14=0|151=10|378=100|278=X|27010=1|60=20261126-12:00:00.000000000|10=000|";

    private static void validate(DataDictionary application, String text) throws Exception {
        application.setAllowUnknownMessageFields(false);
        application.setCheckUserDefinedFields(false);
        DataDictionary transport = new DataDictionary(Dictionaries.TRANSPORT.toString());
        application.validate(new Message(text.replace('|', '\u0001'), transport, application, false), true);
    }

    private static DataDictionary ours() throws Exception {
        return new DataDictionary(Dictionaries.APPLICATION.toString());
    }

    @Test
    void whatTheExchangeHasBeyondTheStockIsAccepted() throws Exception {
        assertDoesNotThrow(() -> validate(ours(), REPORT));
        DataDictionary stock = new DataDictionary("FIX50SP2.xml");
        assertThrows(Exception.class, () -> validate(stock, REPORT));
    }

    @Test
    void whatNobodyHasIsRefused() {
        String[] wrong = {
            REPORT.replace("378=100", "378=101"),
            REPORT.replace("150=D", "150=Z"),
            REPORT.replace("|278=X", "|278=X|279=0"),
            REPORT.replace("|278=X", "|278=X|2999=0"),
            REPORT.replace("|37=X", ""),
        };
        for (String text : wrong) {
            Exception refusal = assertThrows(Exception.class, () -> validate(ours(), text), text);
            assertTrue(
                    refusal instanceof IncorrectTagValue
                            || refusal instanceof FieldException
                            || refusal instanceof FieldNotFound,
                    refusal::toString);
        }
    }
}
