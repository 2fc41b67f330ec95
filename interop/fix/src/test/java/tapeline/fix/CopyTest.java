package tapeline.fix;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import quickfix.Message;

/** A client that gets copies of all reports of other firms. */
class CopyTest {
    private static final int OWNER = 115;

    private Exchange exchange;

    @RegisterExtension
    final Logs logs = new Logs(() -> exchange);

    @Test
    void copiesAreTheReportsOfTheOwnersAlsoWhileTheirReaderIsAway() {
        exchange = Exchange.start(Market.open("ANN", "BOB") + Market.copies("WATCH", 1, 2));
        try (Client watch = new Client(exchange.port(), "WATCH", Market.PASSWORD).logOn();
                Client ann = new Client(exchange.port(), "ANN", Market.PASSWORD).logOn();
                Client bob = new Client(exchange.port(), "BOB", Market.PASSWORD).logOn()) {
            Order order = ann.order(Request.sell("S1", 100).limit("10.00"));
            order.await("0/0");
            bob.order(Request.buy("B1", 30).limit("10.00")).await("F/2");
            order.await("0/0 F/1");
            awaitCopies(watch, ann, bob);
            watch.settle().drop();

            bob.order(Request.buy("B2", 20).limit("10.00")).await("F/2");
            ann.send(Request.cancel("S2", order));
            order.await("0/0 F/1 F/1 4/4");
            int from = watch.application().size();
            watch.logOn();
            awaitCopies(watch, ann, bob);
            watch.application().all().stream().skip(from).forEach(copy ->
                    assertEquals("Y", Fields.ofHeader(copy, 97), () -> Fields.readable(copy)));
        } finally {
            exchange.close();
        }
    }

    private static void awaitCopies(Client watch, Client... owners) {
        List<Map<Integer, String>> wanted = new ArrayList<>();
        for (Client owner : owners) {
            owner.application().all().forEach(report -> wanted.add(fields(report, owner.name())));
        }
        sort(wanted);
        watch.application().awaitAll("copies " + wanted, all -> {
            List<Map<Integer, String>> copies = new ArrayList<>();
            all.forEach(copy -> copies.add(fields(copy, Fields.ofHeader(copy, OWNER))));
            sort(copies);
            return copies.equals(wanted);
        });
    }

    /** What a report says, and whose it is. */
    private static Map<Integer, String> fields(Message report, String owner) {
        Map<Integer, String> fields = new TreeMap<>();
        report.iterator().forEachRemaining(field -> fields.put(field.getTag(), Fields.of(report, field.getTag())));
        fields.put(OWNER, owner);
        return fields;
    }

    private static void sort(List<Map<Integer, String>> reports) {
        reports.sort(Comparator.comparing(fields -> fields.get(17)));
    }

    @Test
    void whoGetsCopiesSendsNoRequests() {
        exchange = Exchange.start(Market.open("ANN") + Market.copies("WATCH", 1));
        try (Client watch = new Client(exchange.port(), "WATCH", Market.PASSWORD).logOn()) {
            watch.send(Request.buy("W1", 10).limit("10.00"));
            Message reject = watch.application().await("a reject", message -> Fields.type(message).equals("j"));
            assertEquals("D", Fields.of(reject, 372));
        } finally {
            exchange.close();
        }
    }

    @Test
    void copiesAreAskedForTheOrdersAndTheUsersOfTheirFirms() {
        exchange = Exchange.start(Market.open("ANN", "BOB") + Market.copies("WATCH", 1));
        try (Client watch = new Client(exchange.port(), "WATCH", Market.PASSWORD).logOn();
                Client ann = new Client(exchange.port(), "ANN", Market.PASSWORD).logOn();
                Client bob = new Client(exchange.port(), "BOB", Market.PASSWORD).logOn()) {
            ann.order(Request.sell("S1", 100).limit("10.00")).await("0/0");
            bob.order(Request.buy("B1", 30).limit("10.00")).await("F/2");
            ann.order(Request.buy("S2", 7).limit("9.00")).await("0/0");
            bob.order(Request.buy("B2", 5).limit("9.00")).await("0/0");

            Message question = message("AF");
            question.setString(584, "Q1");
            question.setInt(585, 7);
            watch.send(question);
            Message last = watch.application().await("the last", all -> "Y".equals(Fields.of(all, 912)));
            List<Message> answers = watch.application().all(all -> "Q1".equals(Fields.of(all, 584)));
            assertEquals(
                    List.of("S1 30+70 ANN I 0", "S2 0+7 ANN I 0"),
                    answers.stream().map(CopyTest::answer).toList());
            assertEquals(last, answers.get(1));

            assertEquals("1", status(watch, "ANN"));
            assertEquals("3", status(watch, "BOB"));
            ann.logOut();
            assertEquals("2", status(watch, "ANN"));
        } finally {
            exchange.close();
        }
    }

    @Test
    void copiesHearOfACircuitBreakAndOfItsEnd() {
        exchange = Exchange.start(Market.braked("ANN", "BOB") + Market.copies("WATCH", 1));
        try (Client watch = new Client(exchange.port(), "WATCH", Market.PASSWORD).logOn();
                Client ann = new Client(exchange.port(), "ANN", Market.PASSWORD).logOn();
                Client bob = new Client(exchange.port(), "BOB", Market.PASSWORD).logOn()) {
            Order far = ann.order(Request.sell("S1", 10).limit("103.00"));
            far.await("0/0");
            Order buy = bob.order(Request.buy("B1", 15).limit("103.00"));
            buy.await("0/0 F/1");
            far.await("0/0 F/2");
            for (String news : List.of("circuit breaker call", "regular trading")) {
                watch.application().await(news, all -> Fields.is(all, "B", 148, news));
            }
        } finally {
            exchange.close();
        }
    }

    private static Message message(String type) {
        Message message = new Message();
        message.getHeader().setString(35, type);
        return message;
    }

    private static String answer(Message report) {
        return Fields.of(report, 11) + " " + Fields.of(report, 14) + "+" + Fields.of(report, 151) + " "
                + Fields.ofHeader(report, OWNER) + " " + Fields.of(report, 150) + " " + Fields.of(report, 17);
    }

    private static String status(Client client, String user) {
        int from = client.application().size();
        Message question = message("BE");
        question.setString(923, "U");
        question.setInt(924, 4);
        question.setString(553, user);
        client.send(question);
        Message answer = client.application().awaitFrom(from, "a status", all -> Fields.type(all).equals("BF"));
        assertEquals(user, Fields.of(answer, 553));
        return Fields.of(answer, 926);
    }

    @Test
    void copiesHearOfAHaltAndOfItsEnd() {
        exchange = Exchange.start(Market.halted("ANN") + Market.copies("WATCH", 1));
        try (Client watch = new Client(exchange.port(), "WATCH", Market.PASSWORD).logOn()) {
            Message halt = watch.application().await("a halt", all -> "halted".equals(Fields.of(all, 148)));
            assertEquals("B", Fields.type(halt));
            watch.application().await("its end", all -> "regular trading".equals(Fields.of(all, 148)));
        } finally {
            exchange.close();
        }
    }
}
