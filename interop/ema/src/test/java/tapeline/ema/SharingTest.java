package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.refinitiv.ema.access.OmmState.DataState;
import com.refinitiv.ema.access.OmmState.StreamState;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;
import org.junit.jupiter.api.extension.RegisterExtension;

/** EMA providers that share the items of one service, as the configuration has it. */
@DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
class SharingTest {
    private static final int HEAVY = 300;
    private static final int LIGHT = 100;
    private static final int NAMED = 100;
    /** One that is asked late takes so many. */
    private static final int ROOM = 250;

    @RegisterExtension
    final Logs logs = new Logs();

    private final List<Source> sources = new ArrayList<>();
    private final StringBuilder configuration = new StringBuilder("[admin]\nport = 0\n");

    @AfterEach
    void stop() {
        sources.forEach(Source::close);
    }

    private Source source(String name, String keys) {
        int port = Ports.free();
        configuration.append(String.format(
                "[[hub.source]]\nname = \"%s\"\nhosts = [\"127.0.0.1:%d\"]\n%s\n", name, port, keys));
        Source source = new Source(port);
        sources.add(source);
        return source;
    }

    /** How many of the items of a watchlist are open at a source. */
    private static int open(Source source, String prefix, int items) {
        int open = 0;
        for (int i = 0; i < items; i++) {
            open += source.openStreams(Watchlist.name(prefix, i));
        }
        return open;
    }

    private static void assertWithinAPercent(int wanted, int open) {
        assertTrue(Math.abs(wanted - open) * 100 <= wanted, open + " items, wanted " + wanted);
    }

    private static void source(Tapeline tapeline, String act, String name) {
        try (Tapeline admin = Tapeline.printing(
                "admin", "--admin", "127.0.0.1:" + tapeline.adminPort(), "source", act, name)) {
            assertEquals(0, admin.exit(), admin.log());
        }
    }

    @Test
    void itemsAreWhereWeightOrderAndNamesHaveThemAndMoveFromASourceThatIsDrained() {
        Source heavy = source("heavy", "weight = 3\nitems = [\"SHARE*\"]");
        Source light = source("light", "items = [\"SHARE*\"]\nopen-limit = " + ROOM);
        Source late = source("late", "order = 1\nitems = [\"SHARE*\"]");
        Source named = source("named", "items = [\"EUR*\", \"re:USD[0-9]+\\\\.N\"]");
        int all = HEAVY + LIGHT;
        try (Tapeline tapeline = logs.of(Tapeline.run(configuration.toString()));
                Consumer consumer = new Consumer(Settings.Compression.NONE, tapeline.consumerPort())) {
            tapeline.awaitNumber("counters", "sources_up", sources.size());
            Watchlist items = Watchlist.open(consumer, "SHARE", all);
            Watchlist.open(consumer, "EUR", NAMED);
            Watchlist.open(consumer, "USD", NAMED);
            assertWithinAPercent(HEAVY, open(heavy, "SHARE", all));
            assertWithinAPercent(LIGHT, open(light, "SHARE", all));
            assertEquals(0, open(late, "SHARE", all), "who is asked late is not asked while others have room");
            for (String prefix : List.of("EUR", "USD")) {
                assertEquals(NAMED, open(named, prefix, NAMED));
                assertEquals(0, open(heavy, prefix, NAMED) + open(light, prefix, NAMED) + open(late, prefix, NAMED));
            }

            items.mark();
            int moving = open(heavy, "SHARE", all);
            Watch watch = Watch.start();
            source(tapeline, "drain", "heavy");
            heavy.closes.await(moving, "closes", name -> name.startsWith("SHARE"));
            watch.print("source drained: its items are at the others");
            assertEquals(0, open(heavy, "SHARE", all));
            assertWithinAPercent(ROOM, open(light, "SHARE", all));
            assertWithinAPercent(all - ROOM, open(late, "SHARE", all));
            for (int i = 0; i < all; i++) {
                for (Source source : List.of(light, late)) {
                    source.update(Watchlist.name("SHARE", i), 1, Samples.tick(1));
                }
                assertEquals(Samples.tick(1), items.awaitUpdate(i).payload());
            }
            for (Stream stream : items.streams) {
                List<Event> told = stream.events.all(e -> e.state() != null);
                assertTrue(told.stream().allMatch(e -> e.isImage() && e.says(StreamState.OPEN, DataState.OK)),
                        told.toString());
            }

            Watchlist.open(consumer, "SHARED", LIGHT);
            assertEquals(0, open(heavy, "SHARED", LIGHT), "it is asked for nothing new");
            source(tapeline, "undrain", "heavy");
            Watchlist.open(consumer, "SHARES", LIGHT);
            assertEquals(LIGHT, open(heavy, "SHARES", LIGHT), "it has the fewest for its weight");
        }
    }
}
