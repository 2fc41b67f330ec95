package tapeline.fix;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import quickfix.Message;

/** What QuickFIX/J expects of a session: logon, numbers, gaps, resends, heartbeats, logout. */
class SessionTest {
    private static final String[] USERS = {
        "LOGON", "BEATS", "BEFORE", "AFTER", "GAP", "RESEND", "JUMP", "RESET", "LOW", "AWAY", "OTHER", "QUIET", "FRESH",
        "AHEAD", "NEVER", "PIECES"
    };

    private static Exchange exchange;

    @RegisterExtension
    final Logs logs = new Logs(() -> exchange);

    @BeforeAll
    static void start() {
        exchange = Exchange.start(Market.open(USERS));
    }

    @AfterAll
    static void stop() {
        exchange.close();
    }

    private static Client client(String name) {
        return new Client(exchange.port(), name, Market.PASSWORD);
    }

    @Test
    void aLogonIsAnsweredAndALogoutIsComplete() {
        try (Client client = client("LOGON").logOn()) {
            Message answer = client.admin().all().get(0);
            assertEquals("A", Fields.type(answer));
            assertEquals("0", Fields.of(answer, 98), "no encryption");
            assertEquals("30", Fields.of(answer, 108), "the client's interval");
            assertEquals("9", Fields.of(answer, 1137), "FIX 5.0 SP2");
            assertEquals("0", Fields.of(answer, 1409), "active");
            assertEquals("4", Fields.of(client.logOut(), 1409), "logged out");
        }
    }

    @Test
    void whoIsQuietHearsHeartbeatsAndIsAskedForOne() {
        try (Client client = client("BEATS").with("HeartBtInt", "1").logOn()) {
            client.admin().awaitAll("two heartbeats", all -> count(all, "0") >= 2);
        }
        // QuickFIX/J is never silent; a bare connection is.
        try (Raw raw = new Raw(exchange.port(), "QUIET")) {
            raw.logOn(1, 1, Market.PASSWORD);
            raw.next("A");
            String request = raw.next("1");
            assertTrue(request.contains("|112="), request);
            String logout = raw.next("5");
            assertTrue(logout.contains("|1409="), logout);
            assertEquals("", raw.next(), "then the connection ends");
        }
    }

    private static long count(List<Message> messages, String type) {
        return messages.stream().filter(message -> Fields.type(message).equals(type)).count();
    }

    @Test
    void aTestRequestIsAnsweredWithItsName() {
        try (Client client = client("BEFORE").logOn()) {
            client.session().generateTestRequest("ARE-YOU-THERE");
            client.admin().await("the answer", message -> Fields.is(message, "0", 112, "ARE-YOU-THERE"));
        }
    }

    @Test
    void aGapOfTheClientIsAskedForAndFilled() {
        try (Client client = client("GAP").logOn()) {
            client.order(Request.buy("G1", 10).limit("90.00")).await("0/0");
            int missing = client.nextOut();
            client.setNextOut(missing + 5);
            Order behind = client.order(Request.buy("G2", 10).limit("90.00"));
            Message request = client.admin().await("a resend request", message -> Fields.type(message).equals("2"));
            assertEquals(Integer.toString(missing), Fields.of(request, 7));
            // QuickFIX/J fills the gap, and then sends the order once more: it counts once.
            behind.await("0/0");
            client.order(Request.buy("G3", 10).limit("90.00")).await("0/0");
            assertEquals(1, client.application().all(message -> Fields.is(message, "8", 11, "G2")).size());
            assertTrue(client.sent().all(SessionTest::isGapFill).size() > 0);
        }
    }

    @Test
    void aLogonBehindAGapIsLetInAndTheGapIsAskedFor() {
        try (Client client = client("AHEAD")) {
            client.setNextOut(8);
            client.logOn();
            Message request = client.admin().await("a resend request", message -> Fields.type(message).equals("2"));
            assertEquals("1", Fields.of(request, 7));
            client.sent().await("a gap fill", SessionTest::isGapFill);
            client.order(Request.buy("H1", 10).limit("90.00")).await("0/0");
        }
    }

    @Test
    void aLogonThatCannotBeUsesUpNoNumber() {
        try (Raw raw = new Raw(exchange.port(), "NEVER")) {
            raw.logOn(1, 0, Market.PASSWORD);
            String logout = raw.next("5");
            assertTrue(logout.contains("|34=1|") && logout.contains("|1409=101|"), logout);
            assertEquals("", raw.next());
        }
        try (Client client = client("NEVER").logOn()) {
            client.order(Request.buy("E1", 10).limit("90.00")).await("0/0");
            assertEquals(0, count(client.admin().all(), "2"), "nothing was missed");
        }
    }

    @Test
    void whatWasMissedMayBeAskedForInPieces() {
        try (Client client = client("PIECES").with("ResendRequestChunkSize", "3").logOn()) {
            for (int at = 0; at < 8; at++) {
                client.order(Request.buy("P" + at, 10).limit("90.00")).await("0/0");
            }
            int from = client.received().size();
            client.forgetFrom(2);
            client.order(Request.buy("P8", 10).limit("90.00")).await("0/0");
            List<String> again = client.received().all().stream()
                    .skip(from)
                    .filter(text -> text.contains("|43=Y|"))
                    .map(text -> text.replaceAll(".*\\|34=(\\d+).*", "$1"))
                    .toList();
            // In threes up to the one that showed the gap, each once.
            assertEquals(List.of("2", "3", "4", "5", "6", "7", "8", "9", "10"), again);
            assertEquals(3, client.sent().all(text -> text.contains("|35=2|")).size());
        }
    }

    @Test
    void whatTheClientMissedIsSentAgainWithItsNumbers() {
        try (Client client = client("RESEND").logOn()) {
            Order order = client.order(Request.buy("R1", 10).limit("90.00"));
            order.await("0/0");
            client.send(Request.cancel("R2", order));
            order.await("0/0 4/4");
            client.session().generateTestRequest("BETWEEN");
            client.admin().await("a heartbeat", message -> Fields.is(message, "0", 112, "BETWEEN"));
            List<String> first = client.received().all(text -> text.contains("|35=8|"));
            int from = client.received().size();

            // As if nothing but the logon had come: the next report shows the gap.
            client.forgetFrom(2);
            client.order(Request.buy("R3", 10).limit("90.00")).await("0/0");
            List<String> again = client.received().all().stream()
                    .skip(from)
                    .filter(text -> text.contains("|35=8|") && !text.contains("|11=R3|"))
                    .toList();
            assertTrue(again.stream().allMatch(text -> text.contains("|43=Y|")), again::toString);
            assertEquals(said(first), said(again));
            // The heartbeat between them is not sent again: a gap fill has its number.
            client.received().awaitFrom(from, "a gap fill", SessionTest::isGapFill);
            // And the numbers go on.
            client.order(Request.buy("R4", 10).limit("90.00")).await("0/0");
        }
    }

    private static boolean isGapFill(String text) {
        return text.contains("|35=4|") && text.contains("|123=Y|");
    }

    private static List<String> said(List<String> messages) {
        return messages.stream().map(SessionTest::said).toList();
    }

    /** A message without what differs when it is sent again, and when it was sent first. */
    private static String said(String text) {
        String first = text.replaceAll(text.contains("|122=") ? ".*\\|122=([^|]*).*" : ".*\\|52=([^|]*).*", "$1");
        return text.replaceAll("^8=[^|]*\\|9=[^|]*|\\|(10|43|52|122)=[^|]*", "") + " " + first;
    }

    @Test
    void aSequenceResetSetsTheNumberAnew() {
        try (Client client = client("JUMP").logOn()) {
            int next = client.nextOut() + 100;
            Message reset = new Message();
            reset.getHeader().setString(35, "4");
            reset.setBoolean(123, false);
            reset.setInt(36, next);
            client.send(reset);
            client.setNextOut(next);
            client.order(Request.buy("J1", 10).limit("90.00")).await("0/0");
            assertEquals(0, count(client.admin().all(), "2"), "nothing was missed");
        }
    }

    @Test
    void aLogonMayBeginBothNumbersAnew() {
        try (Client client = client("RESET").logOn()) {
            client.order(Request.buy("N1", 10).limit("90.00")).await("0/0");
            client.logOut();
            int from = client.application().size();
            client.with("ResetOnLogon", "Y").logOn();
            assertEquals(2, client.nextOut());
            Message answer = client.admin().all(message -> Fields.type(message).equals("A")).get(1);
            assertEquals("Y", Fields.of(answer, 141));
            assertEquals("1", Fields.ofHeader(answer, 34));
            // Under a number of before it can be asked for no more, and may not have come.
            Message again = client.application().awaitFrom(
                    from, "the report again", message -> Fields.is(message, "8", 11, "N1"));
            assertEquals("Y", Fields.ofHeader(again, 97));
            assertEquals("2", Fields.ofHeader(again, 34));
            assertEquals(3, client.settle().nextIn());
            client.order(Request.buy("N2", 10).limit("90.00")).await("0/0");
        }
    }

    @Test
    void numbersGoOnFromOneConnectionToTheNext() {
        try (Client client = client("AFTER").logOn()) {
            client.order(Request.buy("A1", 10).limit("90.00")).await("0/0");
            client.logOut();
            client.logOn();
            client.order(Request.buy("A2", 10).limit("90.00")).await("0/0");
            client.settle().drop();
            client.logOn();
            client.order(Request.buy("A3", 10).limit("90.00")).await("0/0");
            assertEquals(3, client.admin().all(message -> Fields.type(message).equals("A")).size());
            assertEquals(0, count(client.admin().all(), "2"), "nothing was missed");
            assertEquals(0, client.sent().all(text -> text.contains("|35=2|")).size(), "on neither side");
        }
    }

    @Test
    void anExpectationAboveTheClientsNumberEndsTheSession() {
        try (Client client = client("LOW").logOn()) {
            client.order(Request.buy("L1", 10).limit("90.00")).await("0/0");
            client.setNextOut(1);
            client.send(Request.buy("L2", 10).limit("90.00"));
            Message logout = client.admin().await("a logout", message -> Fields.type(message).equals("5"));
            String why = Fields.of(logout, 58);
            assertTrue(why.contains("3") && why.contains("1"), "expected and received: " + why);
            client.awaitDisconnect();
            assertEquals(0, client.application().all(message -> Fields.is(message, "8", 11, "L2")).size());
        }
    }

    @Test
    void aClientThatForgotWhatItGotIsToldAtItsLogon() {
        try (Client client = client("FRESH").logOn()) {
            Order order = client.order(Request.buy("F1", 10).limit("90.00"));
            order.await("0/0");
            client.logOut();
            client.forgetFrom(2);
            int from = client.application().size();
            client.logOn();
            Message again = client.application().awaitFrom(
                    from, "the report again", message -> Fields.is(message, "8", 11, "F1"));
            assertEquals("Y", Fields.ofHeader(again, 43));
        }
    }

    @Test
    void reportsBornWhileTheClientWasAwayComeAtItsLogon() {
        try (Client client = client("AWAY").logOn();
                Client other = client("OTHER").logOn()) {
            Order order = client.order(Request.buy("W1", 30).limit("95.00"));
            order.await("0/0");
            client.logOut();
            other.order(Request.sell("O1", 10).limit("95.00")).await("F/2");
            other.order(Request.sell("O2", 5).limit("95.00")).await("F/2");

            int from = client.application().size();
            client.logOn();
            Message report = order.await("0/0 F/1 F/1");
            assertEquals(15, Fields.number(report, 151));
            client.application().all().stream().skip(from).forEach(message ->
                    assertEquals("Y", Fields.ofHeader(message, 97), () -> Fields.readable(message)));
            // The same after a connection that was lost.
            client.drop();
            other.order(Request.sell("O3", 15).limit("95.00")).await("F/2");
            client.logOn();
            order.await("0/0 F/1 F/1 F/2");
        }
    }
}
