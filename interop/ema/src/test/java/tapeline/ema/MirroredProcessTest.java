package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Two EMA providers, each a process of its own, that publish the same: one is killed at a high rate. */
@DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
class MirroredProcessTest {
    private static final int ITEMS = 1_000;
    private static final int PER_SECOND = 20_000;

    @RegisterExtension
    final Logs logs = new Logs();

    /** Sources that mirror each other, and number their updates alike. */
    private static String configuration(int... ports) {
        return String.format(
                "[admin]\nport = 0\n[[hub.source]]\nhosts = [\"127.0.0.1:%d\"]\n"
                        + "[[hub.source]]\nhosts = [\"127.0.0.1:%d\"]\n"
                        + "[[service]]\nname = \"%s\"\nmirror = \"image\"\nmirror-seq = \"shared\"\n",
                ports[0], ports[1], Source.SERVICE);
    }

    /** Who is there first is used: the other one starts when that is so. */
    private static SourceProcess afterTheFirst(Tapeline tapeline, int port) {
        tapeline.awaitNumber("counters", "sources_up", 1);
        return new SourceProcess(port);
    }

    /** Two more processes, and what they publish, take a busy machine a while. */
    @Test
    @Timeout(120)
    void theOtherGoesOnWithoutAStateAndWithoutARequest() {
        int[] ports = {Ports.free(), Ports.free()};
        try (SourceProcess first = new SourceProcess(ports[0]);
                Tapeline tapeline = logs.of(Tapeline.run(configuration(ports)));
                SourceProcess second = afterTheFirst(tapeline, ports[1]);
                Consumer consumer = new Consumer(Settings.Compression.NONE, tapeline.consumerPort())) {
            tapeline.awaitNumber("counters", "sources_up", 2);
            Flow flow = Flow.open(consumer, "LEVEL", ITEMS);
            second.awaitRequests(ITEMS);
            long begin = System.nanoTime();
            first.publish("LEVEL", ITEMS, PER_SECOND, begin);
            second.publish("LEVEL", ITEMS, PER_SECOND, begin);
            flow.awaitUpdates(PER_SECOND / 2);
            int requests = second.requests();
            flow.mark();
            flow.awaitUpdates(PER_SECOND / 2);
            double beforeMs = flow.silenceMs();
            flow.mark();
            first.kill();
            tapeline.awaitNumber("counters", "mirror_switches", ITEMS);
            flow.awaitUpdates(PER_SECOND / 2);
            int images = Arrays.stream(flow.images()).sum();
            System.out.println(String.format(
                    Locale.ROOT,
                    "took: mirrored process killed at %d/s: %d images, longest silence before %.0f ms, after %.0f ms",
                    PER_SECOND, images, beforeMs, flow.silenceMs()));
            assertEquals(Map.of(), flow.told(), "no state of any item");
            assertEquals(List.of(), flow.faults());
            assertTrue(Arrays.stream(flow.images()).allMatch(count -> count <= 1), "an item has one image at most");
            assertEquals(requests, second.requests(), "nothing is asked of the standby");
        }
    }
}
