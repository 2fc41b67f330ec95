package tapeline.ema;

import com.refinitiv.ema.access.AckMsg;
import com.refinitiv.ema.access.DataType.DataTypes;
import com.refinitiv.ema.access.GenericMsg;
import com.refinitiv.ema.access.Msg;
import com.refinitiv.ema.access.OmmConsumerClient;
import com.refinitiv.ema.access.OmmConsumerEvent;
import com.refinitiv.ema.access.OmmState.StreamState;
import com.refinitiv.ema.access.RefreshMsg;
import com.refinitiv.ema.access.StatusMsg;
import com.refinitiv.ema.access.UpdateMsg;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongSupplier;

/**
 * Many items at a high rate: what comes of each is looked at as it comes, and not kept as {@link Stream}
 * does.
 *
 * <p>The source numbers the updates of each item without a hole. An image may have any of them in it.
 */
final class Flow implements OmmConsumerClient {
    private static final int MOST_FAULTS = 20;

    private final long[] last;
    /** When each had its first image since the mark; 0 for none yet. */
    private final long[] imageNs;
    private final int[] images;
    private final Map<String, Integer> told = new TreeMap<>();
    private final List<String> faults = new ArrayList<>();
    private long markNs;
    private long latestNs;
    private long silenceNs;
    private long updates;
    private int withImage;

    private Flow(int items) {
        last = new long[items];
        imageNs = new long[items];
        images = new int[items];
    }

    /** Opens items of the source's service, and waits for their images. */
    static Flow open(Consumer consumer, String prefix, int items) {
        Flow flow = new Flow(items);
        flow.mark();
        for (int i = 0; i < items; i++) {
            consumer.ema.registerClient(Consumer.request(Source.SERVICE, Watchlist.name(prefix, i)), flow, i);
        }
        flow.awaitImages();
        return flow;
    }

    /** From here on it counts anew; the number that each item had last is kept. */
    synchronized void mark() {
        markNs = System.nanoTime();
        latestNs = markNs;
        silenceNs = 0;
        updates = 0;
        withImage = 0;
        Arrays.fill(imageNs, 0);
        Arrays.fill(images, 0);
        told.clear();
    }

    /** Waits until each item has had an image since the mark. */
    synchronized void awaitImages() {
        await("items with an image", () -> withImage, last.length);
    }

    /** Waits until so many updates have come since the mark. */
    synchronized void awaitUpdates(int count) {
        await("updates", () -> updates, count);
    }

    private void await(String what, LongSupplier had, int count) {
        long end = System.nanoTime() + Inbox.PATIENCE.toNanos();
        while (had.getAsLong() < count) {
            long left = (end - System.nanoTime()) / 1_000_000;
            if (left <= 0) {
                throw new AssertionError(what + ": " + had.getAsLong() + " of " + count + ", told " + told);
            }
            try {
                wait(left);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new AssertionError("interrupted while waiting for " + what, e);
            }
        }
    }

    /** From the mark to the first item's image, and to that of the last one. */
    synchronized double[] imageMs() {
        long[] sorted = imageNs.clone();
        Arrays.sort(sorted);
        return new double[] {(sorted[0] - markNs) / 1e6, (sorted[sorted.length - 1] - markNs) / 1e6};
    }

    /** The longest time since the mark in which no data came for any item. */
    synchronized double silenceMs() {
        return silenceNs / 1e6;
    }

    /** How many images came for each item since the mark. */
    synchronized int[] images() {
        return images.clone();
    }

    /** What states came since the mark, and how often. */
    synchronized Map<String, Integer> told() {
        return new TreeMap<>(told);
    }

    /** Updates that were not the next of their item, and streams that ended. */
    synchronized List<String> faults() {
        return List.copyOf(faults);
    }

    private void fault(String text) {
        if (faults.size() < MOST_FAULTS) {
            faults.add(text);
        }
    }

    private static int item(OmmConsumerEvent event) {
        return (Integer) event.closure();
    }

    private void data() {
        long now = System.nanoTime();
        silenceNs = Math.max(silenceNs, now - latestNs);
        latestNs = now;
        notifyAll();
    }

    @Override
    public synchronized void onRefreshMsg(RefreshMsg msg, OmmConsumerEvent event) {
        int item = item(event);
        if (msg.state().streamState() != StreamState.OPEN) {
            fault("item " + item + ": " + msg.state());
        }
        if (msg.payload().dataType() != DataTypes.NO_DATA) {
            if (images[item]++ == 0) {
                imageNs[item] = System.nanoTime();
                withImage++;
            }
            last[item] = 0;
            data();
        }
    }

    @Override
    public synchronized void onUpdateMsg(UpdateMsg msg, OmmConsumerEvent event) {
        int item = item(event);
        if (last[item] != 0 && msg.seqNum() != last[item] + 1) {
            fault("item " + item + ": update " + msg.seqNum() + " after " + last[item]);
        }
        last[item] = msg.seqNum();
        updates++;
        data();
    }

    @Override
    public synchronized void onStatusMsg(StatusMsg msg, OmmConsumerEvent event) {
        if (msg.hasState()) {
            told.merge(msg.state().toString(), 1, Integer::sum);
            if (msg.state().streamState() != StreamState.OPEN) {
                fault("item " + item(event) + ": " + msg.state());
            }
        }
    }

    @Override
    public void onGenericMsg(GenericMsg msg, OmmConsumerEvent event) {}

    @Override
    public void onAckMsg(AckMsg msg, OmmConsumerEvent event) {}

    @Override
    public void onAllMsg(Msg msg, OmmConsumerEvent event) {}
}
