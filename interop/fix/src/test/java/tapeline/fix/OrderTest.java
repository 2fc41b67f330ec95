package tapeline.fix;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import quickfix.Message;

/** Orders of each type and time in force in regular trading, amended, cancelled and traded between two sessions. */
class OrderTest {
    private static final int BOOKS = 40;
    private static final DateTimeFormatter SECONDS = DateTimeFormatter.ofPattern("yyyyMMdd-HH:mm:ss");

    private static Exchange exchange;
    private static Client ann;
    private static Client bob;
    private static int books;

    /** Each test has a book of its own, and names of its own. */
    private int book;

    @RegisterExtension
    final Logs logs = new Logs(() -> exchange);

    @BeforeAll
    static void start() {
        exchange = Exchange.start(Market.ofBooks(BOOKS, "ANN", "BOB"));
        ann = new Client(exchange.port(), "ANN", Market.PASSWORD).logOn();
        bob = new Client(exchange.port(), "BOB", Market.PASSWORD).logOn();
    }

    @BeforeEach
    void takeBook() {
        books++;
        book = books;
    }

    @AfterEach
    void nothingWasWrong() {
        ann.assertNoFaults();
        bob.assertNoFaults();
    }

    @AfterAll
    static void stop() {
        ann.close();
        bob.close();
        exchange.close();
    }

    private String name(String name) {
        return "T" + book + "-" + name;
    }

    private Request buy(String name, long quantity) {
        return Request.buy(name(name), quantity).instrument(book);
    }

    private Request sell(String name, long quantity) {
        return Request.sell(name(name), quantity).instrument(book);
    }

    private Request cancel(String name, Order order) {
        return Request.cancel(name(name), order).instrument(book);
    }

    private Request amend(String name, Order order, long quantity) {
        return Request.amend(name(name), order, quantity).instrument(book);
    }

    /** A trade between the two, so that stops have something to be compared with. */
    private void tradeAt(String price) {
        Order resting = ann.order(sell("PS", 1).limit(price));
        resting.await("0/0");
        bob.order(buy("PB", 1).limit(price)).await("F/2");
        resting.await("0/0 F/2");
    }

    @Test
    void aLimitOrderRestsWithWhatItWasSentWith() {
        Message report = ann.order(buy("L1", 100).limit("99.95").with(1, "ACCOUNT-1").with(526, "OURS")).await("0/0");
        assertEquals(Integer.toString(book), Fields.of(report, 48));
        assertEquals("1", Fields.of(report, 54));
        assertEquals("2", Fields.of(report, 40));
        assertEquals(100, Fields.number(report, 38));
        assertEquals(100, Fields.number(report, 1138));
        assertEquals(100, Fields.number(report, 151));
        assertEquals(0, Fields.number(report, 14));
        assertTrue(Fields.isPrice(report, 44, "99.95"), () -> Fields.readable(report));
        assertFalse(Fields.of(report, 37).isEmpty());
        assertFalse(Fields.of(report, 278).isEmpty(), "the number of market data");
    }

    @Test
    void aFillIsToldToBothSidesOncePerTrade() {
        // W1 of price and time: the better price first, of one price the older.
        Order worse = ann.order(sell("S1", 100).limit("10.10"));
        Order first = ann.order(sell("S2", 200).limit("10.05"));
        Order second = ann.order(sell("S3", 150).limit("10.05"));
        Stream.of(worse, first, second).forEach(order -> order.await("0/0"));
        Order buy = bob.order(buy("B1", 300).limit("10.10"));
        buy.await("F/1 F/2");
        List<Message> fills = buy.reports();
        assertEquals(List.of(200L, 100L), fills.stream().map(fill -> Fields.number(fill, 32)).toList());
        assertEquals(List.of(100L, 0L), fills.stream().map(fill -> Fields.number(fill, 151)).toList());
        fills.forEach(fill -> assertTrue(Fields.isPrice(fill, 31, "10.05"), () -> Fields.readable(fill)));
        fills.forEach(fill -> assertEquals("2", Fields.of(fill, 851), "took liquidity"));
        Message filled = first.await("0/0 F/2");
        Message part = second.await("0/0 F/1");
        assertEquals("1", Fields.of(filled, 851), "added liquidity");
        assertEquals(50, Fields.number(part, 151));
        assertEquals(Fields.of(fills.get(0), 880), Fields.of(filled, 880), "one trade, one number");
        assertEquals(Fields.of(fills.get(1), 880), Fields.of(part, 880));
        assertNotEquals(Fields.of(filled, 880), Fields.of(part, 880));
        worse.await("0/0");
    }

    @Test
    void whatIsLeftOfAnOrderThatTradedRests() {
        ann.order(sell("S1", 30).limit("10.00")).await("0/0");
        Order buy = bob.order(buy("B1", 100).limit("10.00"));
        assertEquals(70, Fields.number(buy.await("F/1"), 151));
        ann.order(sell("S2", 70).limit("10.00")).await("F/2");
        buy.await("F/1 F/2");
    }

    @Test
    void aMarketOrderTradesAndItsRestExpires() {
        ann.order(sell("S1", 30).limit("10.00")).await("0/0");
        Message rest = bob.order(buy("B1", 100)).await("F/1 C/C");
        assertEquals(30, Fields.number(rest, 14));
        bob.order(buy("B2", 100)).await("C/C");
    }

    @Test
    void immediateOrCancelKeepsNothingAndFillOrKillTakesAllOrNothing() {
        ann.order(sell("S1", 30).limit("10.00")).await("0/0");
        bob.order(buy("B1", 100).limit("10.00").timeInForce("4")).await("C/C");
        bob.order(buy("B2", 20).limit("10.00").timeInForce("4")).await("F/2");
        bob.order(buy("B3", 100).limit("10.00").timeInForce("3")).await("F/1 C/C");
        bob.order(buy("B4", 100).limit("10.00").timeInForce("3")).await("C/C");
    }

    @Test
    void stopsWaitForTheirPriceAndThenTrade() {
        tradeAt("10.00");
        Order stop = bob.order(buy("B1", 10).stop("10.20"));
        Order stopLimit = bob.order(buy("B2", 10).stop("10.20").limit("10.10"));
        Message parked = stop.await("9/9");
        assertEquals("3", Fields.of(parked, 40));
        assertTrue(Fields.isPrice(parked, 99, "10.20"), () -> Fields.readable(parked));
        assertEquals("4", Fields.of(stopLimit.await("9/9"), 40));
        Order offer = ann.order(sell("S1", 15).limit("10.25"));
        offer.await("0/0");
        ann.order(sell("S2", 1).limit("10.20")).await("0/0");
        bob.order(buy("B3", 1).limit("10.20")).await("F/2");
        // The first one takes what is offered; the limit of the second is below it.
        stop.await("9/9 F/2");
        stopLimit.await("9/9 0/0");
        offer.await("0/0 F/1");
    }

    @Test
    void anIcebergShowsItsNextPartUnderANewPublicNumber() {
        Order iceberg = ann.order(sell("S1", 100).limit("10.00").shows(20));
        Message first = iceberg.await("0/0");
        assertEquals(20, Fields.number(first, 1138));
        bob.order(buy("B1", 20).limit("10.00")).await("F/2");
        Message next = iceberg.await("0/0 F/1 D/1");
        assertEquals("100", Fields.of(next, 378), "replenished");
        assertEquals(80, Fields.number(next, 151));
        assertEquals(20, Fields.number(next, 1138));
        assertNotEquals(Fields.of(first, 278), Fields.of(next, 278));
        assertEquals(Fields.of(first, 37), Fields.of(next, 37));
    }

    @Test
    void aRandomPeakIsAtLeastWhatItWasSentWith() {
        Order iceberg = ann.order(sell("S1", 1000).limit("10.00").shows(100).with(1084, "3"));
        iceberg.await("0/0");
        bob.order(buy("B1", 100).limit("10.00")).await("F/2");
        assertTrue(Fields.number(iceberg.await("0/0 F/1 D/1"), 1138) >= 100);
    }

    @Test
    void aHiddenOrderTradesBehindWhatIsShown() {
        Order hidden = ann.order(sell("S1", 50).limit("10.00").shows(0).with(1084, "4"));
        assertEquals(0, Fields.number(hidden.await("0/0"), 1138));
        Order shown = ann.order(sell("S2", 50).limit("10.00"));
        shown.await("0/0");
        bob.order(buy("B1", 60).limit("10.00")).await("F/1 F/2");
        shown.await("0/0 F/2");
        assertEquals(40, Fields.number(hidden.await("0/0 F/1"), 151));
    }

    @Test
    void ordersEndByTheClock() {
        String soon = LocalDateTime.now(ZoneOffset.UTC).plusSeconds(3).format(SECONDS);
        Message untilTime = ann.order(buy("B1", 10).limit("9.00").timeInForce("6").with(126, soon)).await("0/0");
        assertEquals("6", Fields.of(untilTime, 59));
        String tomorrow = LocalDate.now(ZoneOffset.UTC).plusDays(1).format(DateTimeFormatter.BASIC_ISO_DATE);
        Message untilDay =
                ann.order(buy("B2", 10).limit("9.00").timeInForce("6").with(432, tomorrow)).await("0/0");
        assertEquals("6", Fields.of(untilDay, 59));
        String id = Fields.of(untilTime, 37);
        ann.application().await("the end of B1", message ->
                Fields.is(message, "8", 37, id) && Fields.of(message, 150).equals("C"));
    }

    @Test
    void ordersForAuctionsWaitForThem() {
        for (String code : List.of("2", "7", "9", "C")) {
            Message parked = ann.order(buy("B-" + code, 10).limit("9.00").timeInForce(code)).await("9/9");
            assertEquals(code, Fields.of(parked, 59));
        }
    }

    @Test
    void aPassiveOrderEndsWhereItWouldTrade() {
        ann.order(sell("S1", 10).limit("10.00")).await("0/0");
        bob.order(buy("B1", 10).limit("10.00").with(27010, "99")).await("C/C");
        bob.order(buy("B2", 10).limit("9.95").with(27010, "99")).await("0/0");
        bob.order(buy("B3", 10).limit("9.95").with(27010, "100")).await("C/C");
        bob.order(buy("B4", 10).limit("9.95").with(27010, "1")).await("0/0");
        // One better price is fine for 2, two of them for 3.
        bob.order(buy("B5", 10).limit("9.90").with(27010, "2")).await("0/0");
        bob.order(buy("B6", 10).limit("9.85").with(27010, "2")).await("C/C");
        bob.order(buy("B7", 10).limit("9.85").with(27010, "3")).await("0/0");
    }

    @Test
    void aNamedOrderIsTaken() {
        assertEquals("N", Fields.of(ann.order(buy("B1", 10).limit("9.00").with(1091, "N")).await("0/0"), 1091));
    }

    @Test
    void anAmendmentToLessKeepsPriorityAndToMoreLosesIt() {
        Order a = ann.order(sell("A1", 100).limit("10.00"));
        Order b = ann.order(sell("B1", 100).limit("10.00"));
        a.await("0/0");
        b.await("0/0");
        Message less = a.amend(amend("A2", a, 60).limit("10.00")).await("0/0 5/0");
        assertEquals(name("A2"), Fields.of(less, 11));
        assertEquals(name("A1"), Fields.of(less, 41));
        assertEquals(60, Fields.number(less, 151));
        bob.order(buy("X1", 60).limit("10.00")).await("F/2");
        a.await("0/0 5/0 F/2");
        Order c = ann.order(sell("C1", 100).limit("10.00"));
        c.await("0/0");
        Message more = b.amend(amend("B2", b, 120).limit("10.00")).await("0/0 5/0");
        assertEquals(120, Fields.number(more, 38));
        bob.order(buy("X2", 100).limit("10.00")).await("F/2");
        c.await("0/0 F/2");
        b.await("0/0 5/0");
    }

    @Test
    void anAmendmentOfAPartFilledOrderIsOfItsTotal() {
        Order order = ann.order(sell("A1", 100).limit("10.00"));
        order.await("0/0");
        bob.order(buy("X1", 40).limit("10.00")).await("F/2");
        order.await("0/0 F/1");
        Message amended = order.amend(amend("A2", order, 90).limit("10.05")).await("0/0 F/1 5/1");
        assertEquals(50, Fields.number(amended, 151));
        assertEquals(40, Fields.number(amended, 14));
        assertTrue(Fields.isPrice(amended, 44, "10.05"), () -> Fields.readable(amended));
        ann.send(amend("A3", order, 40).limit("10.05"));
        Message refused = ann.awaitMessage("9", name("A3"));
        assertEquals("2", Fields.of(refused, 434), "of an amendment");
        assertEquals(order.id(), Fields.of(refused, 37));
        assertEquals("1", Fields.of(refused, 39), "part filled, as it was");
    }

    @Test
    void anAmendmentThatCrossesTrades() {
        Order order = ann.order(sell("A1", 100).limit("10.50"));
        order.await("0/0");
        bob.order(buy("X1", 30).limit("10.00")).await("0/0");
        order.amend(amend("A2", order, 100).limit("10.00"));
        assertEquals(70, Fields.number(order.await("0/0 5/0 F/1"), 151));
    }

    @Test
    void aCancelIsOfItsOwnersOrdersOnly() {
        Order order = ann.order(sell("A1", 100).limit("10.00"));
        order.await("0/0");
        bob.send(cancel("X1", order).with(37, order.id()));
        Message refused = bob.awaitMessage("9", name("X1"));
        assertEquals("1", Fields.of(refused, 434), "of a cancel");
        ann.send(cancel("A2", order));
        Message cancelled = order.await("0/0 4/4");
        assertEquals(name("A2"), Fields.of(cancelled, 11));
        assertEquals(name("A1"), Fields.of(cancelled, 41));
        ann.send(cancel("A3", order));
        assertEquals("NONE", Fields.of(ann.awaitMessage("9", name("A3")), 37));
    }

    @Test
    void aCancelMayNameTheOrderAsTheExchangeDoes() {
        Order order = ann.order(sell("A1", 100).limit("10.00"));
        order.await("0/0");
        ann.send(cancel("A2", order).without(41).with(37, order.id()));
        order.await("0/0 4/4");
    }

    @Test
    void aMassCancelTakesWhatItsTypeSays() {
        Order one = ann.order(sell("A1", 10).limit("10.00"));
        Order other = ann.order(sell("A2", 10).limit("500.00").instrument(Market.OTHER_SEGMENT));
        Order grouped = ann.order(sell("A3", 10).limit("10.00").with(27017, "7"));
        Order bobs = bob.order(sell("B1", 10).limit("10.00"));
        Stream.of(one, other, grouped, bobs).forEach(order -> order.await("0/0"));

        massCancel(Request.massCancel(name("M0"), "56").with(27017, "8"), "56");
        massCancel(Request.massCancel(name("M1"), "57").instrument(book).with(27017, "7").ofFirm(), "57");
        assertEquals(name("M1"), Fields.of(grouped.await("0/0 4/4"), 11));
        Stream.of(one, other, bobs).forEach(order -> order.await("0/0"));
        massCancel(Request.massCancel(name("M2"), "1").instrument(book), "1");
        one.await("0/0 4/4");
        massCancel(Request.massCancel(name("M3"), "9").with(1300, Market.OTHER), "9");
        other.await("0/0 4/4");
        Order last = ann.order(sell("A4", 10).limit("10.00"));
        last.await("0/0");
        massCancel(Request.massCancel(name("M4"), "7"), "7");
        last.await("0/0 4/4");
        bobs.await("0/0");
    }

    private void massCancel(Request request, String type) {
        ann.send(request);
        Message report = ann.awaitMessage("r", request.name());
        assertEquals(type, Fields.of(report, 530));
        assertEquals(type, Fields.of(report, 531), "accepted");
        assertFalse(Fields.of(report, 1369).isEmpty());
        assertFalse(Fields.of(report, 1180).isEmpty(), "the partition");
    }
}
