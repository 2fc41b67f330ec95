package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Hub and servers as processes of their own, joined by UDP. */
@DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
class BackboneTest {
    private static final int ITEMS = 100;

    @RegisterExtension
    final Logs logs = new Logs();

    private final String backbone = "aeron:udp?control=127.0.0.1:" + Ports.free();

    private Tapeline hub(int source) {
        return logs.of(Tapeline.serving(
                "hub", "--source", "127.0.0.1:" + source, "--ni-port", "0", "--backbone", backbone));
    }

    private Tapeline server() {
        return logs.of(Tapeline.serving("server", "--rssl-port", "0", "--backbone", backbone));
    }

    @Test
    void itemsOfTwoServersAreOneStreamAtTheSourceAndOutliveAServer() {
        int port = Ports.free();
        try (Source source = new Source(port);
                Tapeline hub = hub(port);
                Tapeline first = server();
                Tapeline second = server();
                Consumer reader = new Consumer(Settings.Compression.NONE, second.consumerPort());
                Consumer consumer =
                        new Consumer(Settings.Compression.NONE, first.consumerPort(), second.consumerPort())) {
            Watchlist there = Watchlist.open(reader, "BUS", ITEMS);
            Watchlist items = Watchlist.open(consumer, "BUS", ITEMS);
            for (int i = 0; i < ITEMS; i++) {
                String name = Watchlist.name("BUS", i);
                assertEquals(1, source.openStreams(name));
                source.update(name, 1, Samples.quote(name));
            }
            for (int i = 0; i < ITEMS; i++) {
                there.awaitUpdate(i);
                items.awaitUpdate(i);
            }
            there.mark();
            items.mark();
            Watch watch = Watch.start();
            first.kill();
            items.awaitImages();
            watch.print("one of two servers of a hub killed: all items live at the other");
            there.assertUndisturbed();
            source.update("BUS7.N", 2, Samples.tick(2));
            assertEquals(Samples.tick(2), items.awaitUpdate(7).payload());
            assertEquals(Samples.tick(2), there.awaitUpdate(7).payload());
            assertEquals(1, source.openStreams("BUS7.N"));
        }
    }

    @Test
    void aKilledHubComesBackOnTheSameHandles() {
        int port = Ports.free();
        try (Source source = new Source(port);
                Tapeline first = hub(port);
                Tapeline server = server();
                Consumer consumer = new Consumer(Settings.Compression.NONE, server.consumerPort())) {
            Watchlist items = Watchlist.open(consumer, "BUS", ITEMS);
            Watch watch = Watch.start();
            first.kill();
            items.awaitStale();
            watch.print("hub killed: all items stale at the consumer");
            items.mark();
            Watch back = Watch.start();
            try (Tapeline second = hub(port)) {
                items.awaitImages();
                back.print("hub back: all items live at the consumer, the start of the process included");
                source.update("BUS3.N", 5, Samples.tick(5));
                assertEquals(Samples.tick(5), items.awaitUpdate(3).payload());
                items.assertAlwaysOpen();
                assertEquals(0, second.output().size());
            }
        }
    }
}
