package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import com.refinitiv.ema.access.AckMsg;
import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.access.GenericMsg;
import com.refinitiv.ema.access.Msg;
import com.refinitiv.ema.access.OmmConsumerClient;
import com.refinitiv.ema.access.OmmConsumerEvent;
import com.refinitiv.ema.access.OmmState.DataState;
import com.refinitiv.ema.access.OmmState.StreamState;
import com.refinitiv.ema.access.RefreshMsg;
import com.refinitiv.ema.access.ReqMsg;
import com.refinitiv.ema.access.StatusMsg;
import com.refinitiv.ema.access.UpdateMsg;
import com.refinitiv.ema.rdm.EmaRdm;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Consumers with many items that all lose their connections at once, and one that does not. How many by
 * {@code STORM_CONSUMERS} and {@code STORM_ITEMS}: 50 of 20,000 are for figures, with {@code EMA_HEAP=8g}.
 */
@DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
class StormTest {
    private static final int CONSUMERS = size("STORM_CONSUMERS", 8);
    private static final int ITEMS = size("STORM_ITEMS", 400);
    private static final int NAMES_IN_A_BATCH = 200;
    private static final int UPDATES_IN_QUIET = 200;
    private static final Duration PATIENCE = Duration.ofSeconds(Math.max(60, CONSUMERS * ITEMS / 2_000));

    @RegisterExtension
    final Logs logs = new Logs();

    @RegisterExtension
    final Opened opened = new Opened();

    private static int size(String variable, int usual) {
        String set = System.getenv(variable);
        return set == null ? usual : Integer.parseInt(set);
    }

    /** Counts what comes for all items of a consumer. */
    private static final class Counts implements OmmConsumerClient {
        volatile int images;
        volatile int ended;

        @Override
        public void onRefreshMsg(RefreshMsg msg, OmmConsumerEvent event) {
            if (msg.state().dataState() == DataState.OK) {
                // One thread of EMA calls it.
                images = images + 1;
            }
        }

        @Override
        public void onStatusMsg(StatusMsg msg, OmmConsumerEvent event) {
            // The stream of a batch ends when all of its items have their own.
            if (msg.hasState() && msg.hasName() && msg.state().streamState() != StreamState.OPEN) {
                ended = ended + 1;
            }
        }

        @Override
        public void onUpdateMsg(UpdateMsg msg, OmmConsumerEvent event) {}

        @Override
        public void onGenericMsg(GenericMsg msg, OmmConsumerEvent event) {}

        @Override
        public void onAckMsg(AckMsg msg, OmmConsumerEvent event) {}

        @Override
        public void onAllMsg(Msg msg, OmmConsumerEvent event) {}
    }

    private static List<String> names() {
        return IntStream.range(0, ITEMS).mapToObj(item -> Watchlist.name("STORM", item)).toList();
    }

    private static void openAll(Consumer consumer, Counts counts) {
        List<String> names = names();
        for (int from = 0; from < ITEMS; from += NAMES_IN_A_BATCH) {
            List<String> some = names.subList(from, Math.min(ITEMS, from + NAMES_IN_A_BATCH));
            ReqMsg request = EmaFactory.createReqMsg()
                    .domainType(EmaRdm.MMT_MARKET_PRICE)
                    .serviceName(Source.SERVICE)
                    .payload(Consumer.batch(some));
            consumer.open(request, counts);
        }
    }

    private static int images(List<Counts> all) {
        return all.stream().mapToInt(counts -> counts.images).sum();
    }

    /** Publishes one update after the other until it is over; how long they took, in microseconds, sorted. */
    private static long[] updates(Source source, Stream live, IntPredicate goesOn) {
        List<Long> taken = new ArrayList<>();
        for (int seq = 1; goesOn.test(seq); seq++) {
            int mark = live.events.size();
            long from = System.nanoTime();
            source.update("LIVE.N", seq, Samples.tick(seq % 100));
            live.updateFrom(mark);
            taken.add((System.nanoTime() - from) / 1_000);
            LockSupport.parkNanos(1_000_000);
        }
        return taken.stream().mapToLong(Long::longValue).sorted().toArray();
    }

    private static String spread(long[] sorted) {
        return String.format(
                Locale.ROOT, "p50 %d us, p99 %d us of %d", sorted[sorted.length / 2], sorted[sorted.length * 99 / 100],
                sorted.length);
    }

    @Test
    @Timeout(540)
    void consumersThatReconnectAtOnceAllHaveTheirImagesAndAnotherOneItsUpdates() {
        int sourcePort = Ports.free();
        Source source = opened.keep(new Source(sourcePort));
        Bystander bystander = opened.keep(new Bystander(logs));
        Tapeline tapeline = opened.keep(logs.of(Tapeline.run(String.format(
                "[admin]\nport = 0\n[[hub.source]]\nhosts = [\"127.0.0.1:%d\"]\n[[hub.source]]\nhosts = [\"127.0.0.1:%d\"]\n"
                        + "[server]\nmax-mounts = 1000\nitem-limit = %d\nitem-limit-per-mount = %d\n",
                sourcePort, bystander.sourcePort(), 2 * CONSUMERS * ITEMS + 1_000, ITEMS + 1_000))));
        bystander.watch(tapeline.consumerPort());
        Consumer neighbour = opened.keep(new Consumer(new Consumer.User("neighbour"), tapeline.consumerPort()));
        Stream live = neighbour.open(Source.SERVICE, "LIVE.N");
        live.image();
        // It holds all items, so that they stay open while nobody else is there.
        Counts held = new Counts();
        openAll(neighbour, held);
        await("images for the one that stays", () -> held.images >= ITEMS);
        long quietFromUs = Bystander.nowUs();
        long[] quiet = updates(source, live, seq -> seq <= UPDATES_IN_QUIET);
        long quietUntilUs = Bystander.nowUs();

        Delay relay = opened.keep(new Delay(tapeline.consumerPort(), 0));
        List<Counts> counts = new ArrayList<>();
        for (int i = 0; i < CONSUMERS; i++) {
            Counts own = new Counts();
            openAll(opened.keep(Consumer.ofManyItems(relay.port(), tapeline.consumerPort())), own);
            counts.add(own);
        }
        int wanted = CONSUMERS * ITEMS;
        await("images for all", () -> images(counts) >= wanted);
        int[] before = counts.stream().mapToInt(own -> own.images).toArray();

        Watch watch = Watch.start();
        long stormFromUs = Bystander.nowUs();
        relay.close();
        long end = System.nanoTime() + PATIENCE.toNanos();
        long[] loaded = updates(
                source, live,
                seq -> System.nanoTime() < end && images(counts) < Arrays.stream(before).sum() + wanted);
        long stormUntilUs = Bystander.nowUs();
        watch.print(String.format(
                Locale.ROOT, "%d EMA consumers of %d items reconnected at once: all images, EMA's second of delay included",
                CONSUMERS, ITEMS));
        System.out.println("updates of another consumer: " + spread(quiet) + " before, " + spread(loaded) + " meanwhile");
        bystander.end();
        Bystander.Ages quietAges = bystander.between(quietFromUs, quietUntilUs);
        Bystander.Ages stormAges = bystander.between(stormFromUs, stormUntilUs);
        System.out.println("of one in a process of its own: " + quietAges + " before, " + stormAges + " meanwhile");
        assertNotEquals(0, stormAges.sortedUs().length, "updates of the one in a process of its own");
        for (int i = 0; i < CONSUMERS; i++) {
            assertEquals(before[i] + ITEMS, counts.get(i).images, "consumer " + i);
            assertEquals(0, counts.get(i).ended, "streams that ended, consumer " + i);
        }
        assertEquals(ITEMS, source.requests.all(request -> request.name().startsWith("STORM")).size());
        assertEquals(ITEMS, held.images);
        assertEquals(0, tapeline.counted("tapeline_server_mounts_cut_total"));
        assertEquals(0, tapeline.counted("tapeline_server_requests_lost_total"));
        assertEquals(List.of(), live.events.all(event -> event.state() != null && !event.isImage()));
    }

    private static void await(String what, BooleanSupplier isSo) {
        long end = System.nanoTime() + PATIENCE.toNanos();
        while (!isSo.getAsBoolean()) {
            if (System.nanoTime() > end) {
                throw new AssertionError("no " + what + " in " + PATIENCE);
            }
            LockSupport.parkNanos(2_000_000);
        }
    }
}
