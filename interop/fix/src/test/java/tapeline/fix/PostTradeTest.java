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
