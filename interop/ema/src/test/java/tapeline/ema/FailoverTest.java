package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What there are two of: consumers go on at the other when one is killed. */
@DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
class FailoverTest {
    private static final int ITEMS = 200;

    @RegisterExtension
    final Logs logs = new Logs();

    @Test
    void aConsumerGoesOnAtTheSecondServer() {
        int port = Ports.free();
        try (Source source = new Source(port);
                Tapeline first = logs.of(Tapeline.run(port));
                Tapeline second = logs.of(Tapeline.run(port));
                Consumer consumer =
                        new Consumer(Settings.Compression.NONE, first.consumerPort(), second.consumerPort())) {
            Watchlist items = Watchlist.open(consumer, "FAILOVER", ITEMS);
            Watch watch = Watch.start();
            first.kill();
            items.awaitStale();
            watch.print("server killed: the consumer has noticed");
            items.awaitImages();
            watch.print("server killed: all items live at the other server");
            source.update("FAILOVER0.N", 9, Samples.tick(9));
            assertEquals(Samples.tick(9), items.awaitUpdate(0).payload());
            assertTrue(source.openStreams("FAILOVER0.N") <= 1, "the killed server still has the item open");
        }
    }

    @Test
    void aHubGoesOnAtTheOtherSourceOfTheService() {
        int[] ports = {Ports.free(), Ports.free()};
        Source[] sources = {new Source(ports[0]), new Source(ports[1])};
        try (Tapeline tapeline = logs.of(Tapeline.run(ports));
                Consumer consumer = new Consumer(Settings.Compression.NONE, tapeline.consumerPort())) {
            Watchlist items = Watchlist.open(consumer, "TWICE", ITEMS);
            // The hub shares the items of a service among its sources.
            int active = sources[0].openStreams("TWICE0.N") == 1 ? 0 : 1;
            List<Integer> lost = IntStream.range(0, ITEMS)
                    .filter(i -> sources[active].openStreams(Watchlist.name("TWICE", i)) == 1)
                    .boxed()
                    .toList();
            Watchlist affected = items.only(lost);
            Watch watch = Watch.start();
            sources[active].close();
            affected.awaitImages();
            watch.print("source killed: its items live from the other source of the service");
            items.assertAlwaysOpen();
            Source other = sources[1 - active];
            for (int i = 0; i < ITEMS; i++) {
                assertEquals(1, other.openStreams(Watchlist.name("TWICE", i)));
            }
            other.update("TWICE0.N", 3, Samples.tick(3));
            assertEquals(Samples.tick(3), affected.awaitUpdate(0).payload());
        } finally {
            sources[0].close();
            sources[1].close();
        }
    }

    @Test
    void aServerThatComesBackHasItsConsumersAgain() {
        int source = Ports.free();
        int server = Ports.free();
        String[] arguments = {
            "run", "--source", "127.0.0.1:" + source, "--ni-port", "0", "--rssl-port", String.valueOf(server),
            "--backbone", "aeron:ipc"
        };
        Tapeline first = null;
        try (Source feed = new Source(source)) {
            first = logs.of(Tapeline.serving(arguments));
            try (Consumer consumer = new Consumer(Settings.Compression.NONE, server)) {
                Watchlist items = Watchlist.open(consumer, "SAME", ITEMS);
                first.kill();
                items.awaitStale();
                Watch watch = Watch.start();
                try (Tapeline second = logs.of(Tapeline.serving(arguments))) {
                    items.awaitImages();
                    watch.print("server killed and back: all items live at the consumer");
                    feed.update("SAME0.N", 4, Samples.tick(4));
                    assertEquals(Samples.tick(4), items.awaitUpdate(0).payload());
                    assertEquals(server, second.consumerPort());
                }
            }
        } finally {
            if (first != null) {
                first.close();
            }
        }
    }
}
