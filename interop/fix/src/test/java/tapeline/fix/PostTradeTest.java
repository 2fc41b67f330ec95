package tapeline.fix;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import quickfix.FieldNotFound;
import quickfix.Group;
import quickfix.Message;

/** Who settles trades, by QuickFIX/J. */
class PostTradeTest {
    private Exchange exchange;

    @RegisterExtension
    final Logs logs = new Logs(() -> exchange);

    private Client settler(String name) {
        return new Client(exchange.postTradePort(), name, Market.PASSWORD, Client.POST_TRADE);
    }

    @Test
    void eachSideIsConfirmedToItsFirmAndCanBeHadAgain() throws FieldNotFound {
        exchange = Exchange.start(
                Market.open("ANN", "BOB") + Market.settles("CLEAR1", 1) + Market.settles("CLEAR2", 2));
        try (Client one = settler("CLEAR1").logOn();
                Client two = settler("CLEAR2").logOn();
                Client ann = new Client(exchange.port(), "ANN", Market.PASSWORD).logOn();
                Client bob = new Client(exchange.port(), "BOB", Market.PASSWORD).logOn()) {
            ann.order(Request.sell("S1", 100).limit("10.00")).await("0/0");
            bob.order(Request.buy("B1", 30).limit("10.00")).await("F/2");
            Message seller = confirmation(one, 0);
            Message buyer = confirmation(two, 0);
            assertEquals("S1 2 30@10.00 N", text(seller));
            assertEquals("B1 1 30@10.00 N", text(buyer));
            assertEquals(Fields.of(seller, 1003), Fields.of(buyer, 1003));
            assertNotEquals(Fields.of(seller, 571), Fields.of(buyer, 571));

            one.settle().drop();
            bob.order(Request.buy("B2", 20).limit("10.00")).await("F/2");
            int from = one.application().size();
            one.logOn();
            assertEquals("Y", Fields.ofHeader(confirmation(one, from), 97));

            from = one.application().size();
            Message question = new Message();
            question.getHeader().setString(35, "AD");
            question.setString(568, "Q1");
            question.setInt(569, 0);
            one.send(question);
            one.application().awaitFrom(from, "the end of the answer", all -> Fields.of(all, 750).equals("1"));
            List<Message> answer = one.application().all(all -> "Q1".equals(Fields.of(all, 568)));
            assertEquals(List.of("AQ", "AE", "AE", "AQ"), answer.stream().map(Fields::type).toList());
            assertEquals("S1 2 30@10.00 Y", text(answer.get(1)));
            assertEquals("S1 2 20@10.00 Y", text(answer.get(2)));
        } finally {
            exchange.close();
        }
    }

    @Test
    void aTradeIsCancelledWhenBothSidesAsk() throws FieldNotFound {
        exchange = Exchange.start(Market.open("ANN", "BOB")
                + Market.settles("CLEAR1", 1)
                + Market.settles("CLEAR2", 2)
                + Market.copies("WATCH", 1));
        try (Client one = settler("CLEAR1").logOn();
                Client two = settler("CLEAR2").logOn();
                Client watch = new Client(exchange.port(), "WATCH", Market.PASSWORD).logOn();
                Client ann = new Client(exchange.port(), "ANN", Market.PASSWORD).logOn();
                Client bob = new Client(exchange.port(), "BOB", Market.PASSWORD).logOn()) {
            Order sell = ann.order(Request.sell("S1", 100).limit("10.00"));
            sell.await("0/0");
            Order buy = bob.order(Request.buy("B1", 30).limit("10.00"));
            buy.await("F/2");
            Message traded = sell.await("0/0 F/1");
            Message seller = confirmation(one, 0);

            one.send(cancel("C1", seller, "2"));
            assertEquals("0 1", answer(one, "C1"));
            Message asked = two.application().await("the question", all -> isOf(all, "6", "1"));
            assertEquals(Fields.of(seller, 1003), Fields.of(asked, 1003));
            sell.await("0/0 F/1");

            two.send(cancel("C2", asked, "1"));
            assertEquals("0 0", answer(two, "C2"));
            for (Client settler : List.of(one, two)) {
                Message end = settler.application().await("the end", all -> isOf(all, "6", "0"));
                assertEquals("1 H", Fields.of(end, 487) + " " + Fields.of(end, 150));
            }
            Message restated = sell.await("0/0 F/1 H/0 D/0");
            assertEquals("70 0 70 8", Fields.of(restated, 151) + " " + Fields.of(restated, 14) + " "
                    + Fields.of(restated, 38) + " " + Fields.of(restated, 378));
            Message end = sell.reports().get(2);
            assertEquals(Fields.of(traded, 17), Fields.of(end, 19));
            assertEquals(Fields.of(traded, 880), Fields.of(end, 880));
            assertEquals("0", Fields.of(buy.await("F/2 H/0 D/0"), 151));
            watch.application().await("a copy of the end", all -> Fields.of(all, 150).equals("H"));

            // The order goes on as one of 70.
            bob.order(Request.buy("B2", 70).limit("10.00")).await("F/2");
            sell.await("0/0 F/1 H/0 D/0 F/2");

            one.send(cancel("C3", seller, "2"));
            assertEquals("1 ", answer(one, "C3"));
        } finally {
            exchange.close();
        }
    }

    /** What asks for the end of the trade that a confirmation is of. */
    private static Message cancel(String name, Message confirmation, String side) {
        Message request = new Message();
        request.getHeader().setString(35, "AE");
        request.setString(571, name);
        request.setInt(487, 1);
        request.setInt(856, 6);
        for (int tag : List.of(1003, 48, 22, 32, 31)) {
            request.setString(tag, Fields.of(confirmation, tag));
        }
        Group sides = new Group(552, 54);
        sides.setString(54, side);
        request.addGroup(sides);
        return request;
    }

    /** Whether a request is taken, and whether both sides have asked. */
    private static String answer(Client client, String name) {
        Message answer = client.application().await("an answer to " + name, all -> Fields.is(all, "AR", 571, name));
        return Fields.of(answer, 939) + " " + Fields.of(answer, 573);
    }

    private static boolean isOf(Message message, String kind, String match) {
        return Fields.is(message, "AE", 856, kind) && Fields.of(message, 573).equals(match);
    }

    private static Message confirmation(Client client, int from) {
        return client.application().awaitFrom(from, "a confirmation", all -> Fields.type(all).equals("AE"));
    }

    private static String text(Message confirmation) throws FieldNotFound {
        Group side = confirmation.getGroup(1, 552);
        return side.getString(11) + " " + side.getString(54) + " " + Fields.of(confirmation, 32) + "@"
                + new java.math.BigDecimal(Fields.of(confirmation, 31)).setScale(2) + " "
                + Fields.of(confirmation, 570);
    }
}
