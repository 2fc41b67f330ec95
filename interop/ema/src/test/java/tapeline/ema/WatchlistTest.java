package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.refinitiv.ema.access.AckMsg;
import com.refinitiv.ema.access.FieldEntry;
import com.refinitiv.ema.access.GenericMsg;
import com.refinitiv.ema.access.Msg;
import com.refinitiv.ema.access.OmmConsumerClient;
import com.refinitiv.ema.access.OmmConsumerEvent;
import com.refinitiv.ema.access.OmmState.DataState;
import com.refinitiv.ema.access.OmmState.StatusCode;
import com.refinitiv.ema.access.OmmState.StreamState;
import com.refinitiv.ema.access.RefreshMsg;
import com.refinitiv.ema.access.StatusMsg;
import com.refinitiv.ema.access.UpdateMsg;
import java.time.Duration;
import java.util.BitSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A watchlist as large as they get. */
class WatchlistTest {
    private static final int ITEMS = 100_000;
    private static final Duration PATIENCE = Duration.ofSeconds(100);

    /**
     * Items on their way at a time, fewer than either side of the SDK has buffers: see {@link
     * Settings#OUTPUT_BUFFERS}.
     */
    private static final int STEP = 1_000;

    @RegisterExtension
    static final Market market = new Market();

    /** Checks every image against its item's number and keeps nothing but that it was there. */
    private static final class Counting implements OmmConsumerClient {
        private final BitSet open = new BitSet(ITEMS);
        private final BitSet updated = new BitSet(ITEMS);
        private String fault;

        /** Waits until the items before this one are all there. */
        synchronized void await(BitSet which, int end, String what) throws InterruptedException {
            long patienceEnd = System.nanoTime() + PATIENCE.toNanos();
            while (which.nextClearBit(end - STEP) < end && fault == null) {
                long left = (patienceEnd - System.nanoTime()) / 1_000_000;
                if (left <= 0) {
                    throw new AssertionError(
                            what + ": " + which.cardinality() + " of " + ITEMS + ", the first without is number "
                                    + which.nextClearBit(0));
                }
                wait(left);
            }
            if (fault != null) {
                throw new AssertionError(fault);
            }
        }

        private synchronized void mark(BitSet which, int item) {
            which.set(item);
            int step = item - item % STEP;
            if (which.nextClearBit(step) >= step + STEP) {
                notifyAll();
            }
        }

        private synchronized void fault(String text) {
            fault = text;
            notifyAll();
        }

        @Override
        public void onRefreshMsg(RefreshMsg msg, OmmConsumerEvent event) {
            int item = number(msg.name());
            boolean live = msg.state().streamState() == StreamState.OPEN && msg.state().dataState() == DataState.OK;
            if (!live || !msg.complete() || !Samples.quote(name(item)).equals(Decode.fields(msg.payload().fieldList()))) {
                fault(msg.toString());
            }
            mark(open, item);
        }

        @Override
        public void onUpdateMsg(UpdateMsg msg, OmmConsumerEvent event) {
            int item = number(msg.name());
            for (FieldEntry field : msg.payload().fieldList()) {
                if (field.fieldId() == Samples.BID && field.real().mantissa() != 100_000 + item) {
                    fault(msg.toString());
                }
            }
            mark(updated, item);
        }

        /** On a machine that is busy with other things the source may take longer than a request may. */
        @Override
        public void onStatusMsg(StatusMsg msg, OmmConsumerEvent event) {
            if (msg.state().streamState() != StreamState.OPEN || msg.state().statusCode() != StatusCode.TIMEOUT) {
                fault(msg.toString());
            }
        }

        @Override
        public void onGenericMsg(GenericMsg msg, OmmConsumerEvent event) {}

        @Override
        public void onAckMsg(AckMsg msg, OmmConsumerEvent event) {}

        @Override
        public void onAllMsg(Msg msg, OmmConsumerEvent event) {}
    }

    private static String name(int item) {
        return "WATCH" + item;
    }

    private static int number(String name) {
        return Integer.parseInt(name.substring("WATCH".length()));
    }

    @Test
    @Timeout(150)
    void aHundredThousandItemsOpenAndTick() throws InterruptedException {
        Counting counting = new Counting();
        Consumer consumer = market.consumerOfManyItems();
        Watch watch = Watch.start();
        for (int i = 0; i < ITEMS; i++) {
            consumer.open(Consumer.request(Source.SERVICE, name(i)), counting);
            if ((i + 1) % STEP == 0) {
                counting.await(counting.open, i + 1, "images");
            }
        }
        watch.print(ITEMS + " items opened through EMA on both sides");
        Watch ticks = Watch.start();
        for (int i = 0; i < ITEMS; i++) {
            market.source().update(name(i), i, Samples.tick(i));
            if ((i + 1) % STEP == 0) {
                counting.await(counting.updated, i + 1, "updates");
            }
        }
        ticks.print("one update of each of " + ITEMS + " items");
        assertEquals(ITEMS, counting.open.cardinality());
        assertEquals(ITEMS, counting.updated.cardinality());
    }
}
