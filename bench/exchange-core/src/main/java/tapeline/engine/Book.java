package tapeline.engine;

import exchange.core2.collections.objpool.ObjectsPool;
import exchange.core2.core.common.CoreSymbolSpecification;
import exchange.core2.core.common.MatcherEventType;
import exchange.core2.core.common.MatcherTradeEvent;
import exchange.core2.core.common.OrderAction;
import exchange.core2.core.common.OrderType;
import exchange.core2.core.common.SymbolType;
import exchange.core2.core.common.cmd.CommandResultCode;
import exchange.core2.core.common.cmd.OrderCommand;
import exchange.core2.core.common.config.LoggingConfiguration;
import exchange.core2.core.orderbook.IOrderBook;
import exchange.core2.core.orderbook.OrderBookDirectImpl;
import exchange.core2.core.orderbook.OrderBookEventsHelper;
import exchange.core2.core.processors.SharedPool;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.Map;

/** The engine alone, without ring buffers and risk, by the rules of a flow. Its events go back into its pool. */
final class Book {
    private static final long USER = 1;
    private static final int POOLED = 1 << 20;
    private static final int CHAIN = 256;

    private final Flow flow;
    private final SharedPool events = new SharedPool(4, 4, CHAIN);
    private final IOrderBook book;
    private final OrderCommand command = new OrderCommand();
    private final byte[] sides;
    private final long[] prices;
    final Reports reports;

    Book(Flow flow) {
        this.flow = flow;
        CoreSymbolSpecification symbol = CoreSymbolSpecification.builder()
                .symbolId(1).type(SymbolType.FUTURES_CONTRACT).baseScaleK(1).quoteScaleK(1).build();
        Map<Integer, Integer> pools = new HashMap<>();
        pools.put(ObjectsPool.DIRECT_ORDER, POOLED);
        pools.put(ObjectsPool.DIRECT_BUCKET, POOLED);
        pools.put(ObjectsPool.ART_NODE_4, POOLED);
        pools.put(ObjectsPool.ART_NODE_16, POOLED);
        pools.put(ObjectsPool.ART_NODE_48, POOLED / 4);
        pools.put(ObjectsPool.ART_NODE_256, POOLED / 16);
        LoggingConfiguration silent = new LoggingConfiguration(
                EnumSet.noneOf(LoggingConfiguration.LoggingLevel.class));
        book = new OrderBookDirectImpl(
                symbol, new ObjectsPool(pools), new OrderBookEventsHelper(events::getChain), silent);
        long ids = 0;
        for (long id : flow.id) {
            ids = Math.max(ids, id + 1);
        }
        sides = new byte[(int) ids];
        prices = new long[(int) ids];
        reports = new Reports(flow.count * 2);
    }

    void run() {
        for (int i = 0; i < flow.count; i++) {
            take(i);
        }
    }

    /** One message of the flow, the next one. */
    void take(int i) {
        long sequence = flow.sequence[i];
        long id = flow.id[i];
        switch (flow.kind[i]) {
            case Flow.NEW -> {
                reports.add(Reports.ACCEPTED, sequence, flow.side[i], id, flow.price[i], flow.quantity[i]);
                enter(i);
            }
            case Flow.CANCEL -> {
                if (cancel(id)) {
                    reports.add(Reports.CANCELLED, sequence, sides[(int) id], id, prices[(int) id], 0);
                } else {
                    reports.add(Reports.CANCEL_REJECTED, sequence, id, 0, 0, 0);
                }
            }
            case Flow.MODIFY -> {
                if (cancel(id)) {
                    reports.add(Reports.MODIFIED, sequence, flow.side[i], id, flow.price[i], flow.quantity[i]);
                    enter(i);
                } else {
                    reports.add(Reports.MODIFY_REJECTED, sequence, id, 0, 0, 0);
                }
            }
            default -> throw new IllegalArgumentException("a message of kind " + flow.kind[i]);
        }
    }

    private boolean cancel(long id) {
        command.orderId = id;
        command.uid = USER;
        command.matcherEvent = null;
        boolean isDone = book.cancelOrder(command) == CommandResultCode.SUCCESS;
        giveBack();
        return isDone;
    }

    private void enter(int i) {
        int id = (int) flow.id[i];
        sides[id] = flow.side[i];
        prices[id] = flow.price[i];
        command.orderId = id;
        command.uid = USER;
        command.price = flow.price[i];
        command.reserveBidPrice = flow.price[i];
        command.size = flow.quantity[i];
        command.action = flow.side[i] == 0 ? OrderAction.BID : OrderAction.ASK;
        command.orderType = flow.isImmediate[i] ? OrderType.IOC : OrderType.GTC;
        command.matcherEvent = null;
        book.newOrder(command);
        long left = flow.quantity[i];
        for (MatcherTradeEvent event = command.matcherEvent; event != null; event = event.nextEvent) {
            if (event.eventType == MatcherEventType.TRADE) {
                left -= event.size;
                reports.add(Reports.TRADED, flow.sequence[i], event.price, event.size, event.matchedOrderId, id);
            }
        }
        giveBack();
        if (flow.isImmediate[i] && left > 0) {
            reports.add(Reports.CANCELLED, flow.sequence[i], flow.side[i], id, flow.price[i], 0);
        }
    }

    private void giveBack() {
        if (command.matcherEvent != null) {
            events.putChain(command.matcherEvent);
        }
    }
}
