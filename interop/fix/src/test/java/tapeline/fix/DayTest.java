package tapeline.fix;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import quickfix.Message;

/** A trading day of seconds: opening call and auction, trading, closing call and auction, the end. */
class DayTest {
    /** Long enough for a start and two logons on a busy machine. */
    private static final int REGULAR_S = 15;

    private static final int CLOSING_CALL_S = 18;
    private static final int END_S = 21;

    private Exchange exchange;

    @RegisterExtension
    final Logs logs = new Logs(() -> exchange);

    @Test
    void aWholeDayIsToldInReports() {
        // QuickFIX/J takes its time when it is used for the first time, which is not to be the day's.
        exchange = Exchange.start(Market.open("ANN"));
        new Client(exchange.port(), "ANN", Market.PASSWORD).logOn().close();
        exchange.close();
        exchange = Exchange.start(Market.dayOf(REGULAR_S, CLOSING_CALL_S, END_S, "ANN", "BOB"));
        try (Client ann = new Client(exchange.port(), "ANN", Market.PASSWORD).logOn();
                Client bob = new Client(exchange.port(), "BOB", Market.PASSWORD).logOn()) {
            day(ann, bob);
        } finally {
            exchange.close();
        }
    }

    private static void day(Client ann, Client bob) {
        // In the opening call. At 101.00 the most can be traded, 500.
        Order highest = ann.order(Request.buy("B1", 200).limit("102.00"));
        Order middle = ann.order(Request.buy("B2", 300).limit("101.00"));
        Order lowest = ann.order(Request.buy("B3", 100).limit("100.00"));
        Order everyAuction = ann.order(Request.buy("B4", 10).limit("90.00").timeInForce("C"));
        Order atOnce = ann.order(Request.buy("B5", 10).limit("102.00").timeInForce("3"));
        Order cheap = bob.order(Request.sell("S1", 150).limit("99.00"));
        Order nextAuction = bob.order(Request.sell("S2", 150).limit("100.00").timeInForce("9"));
        Order dear = bob.order(Request.sell("S3", 250).limit("101.00"));
        Order opening = bob.order(Request.sell("S4", 40).limit("105.00").timeInForce("2"));
        Order closing = bob.order(Request.sell("S5", 60).timeInForce("7"));
        atOnce.await("8/8");

        // What the opening auction does.
        highest.await("0/0 F/1 F/2");
        middle.await("0/0 F/1 F/2");
        cheap.await("0/0 F/2");
        nextAuction.await("0/0 F/1 F/2");
        opening.await("0/0 C/C");
        // The closing orders sell to what is left of the bids; the rest ends with the day.
        closing.await("9/9 0/0 F/2");
        lowest.await("0/0 F/1 C/C");
        dear.await("0/0 F/1 C/C");
        // It waits for an auction that this day has no more.
        everyAuction.await("0/0 9/9 0/0 9/9 C/C");

        assertTrades("101.00", 500, List.of(highest, middle), List.of(cheap, nextAuction, dear));
        assertTrades("100.00", 60, List.of(lowest), List.of(closing));
    }

    private static void assertTrades(String price, long quantity, List<Order> buys, List<Order> sells) {
        for (List<Order> side : List.of(buys, sells)) {
            List<Message> trades = side.stream()
                    .flatMap(order -> order.reports().stream())
                    .filter(report -> Fields.of(report, 150).equals("F"))
                    .toList();
            assertEquals(quantity, trades.stream().mapToLong(trade -> Fields.number(trade, 32)).sum());
            for (Message trade : trades) {
                assertTrue(Fields.isPrice(trade, 31, price), () -> Fields.readable(trade));
                assertEquals("4", Fields.of(trade, 851), () -> "in an auction: " + Fields.readable(trade));
            }
        }
    }
}
