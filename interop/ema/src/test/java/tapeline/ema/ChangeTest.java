package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.refinitiv.ema.access.OmmInvalidUsageException;
import com.refinitiv.ema.access.OmmState.DataState;
import com.refinitiv.ema.access.OmmState.StreamState;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The configuration changes while EMA's consumers have their items open: none of them notices. */
@DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
class ChangeTest {
    private static final int ITEMS = 5;
    /** What is watched takes its time. */
    private static final Duration WATCHED = Duration.ofSeconds(90);

    @RegisterExtension
    final Logs logs = new Logs();

    private Path folder;
    private int sourcePort;
    private Source source;
    private Tapeline tapeline;

    @BeforeEach
    void start() throws IOException {
        folder = Files.createTempDirectory("tapeline-change");
        sourcePort = Ports.free();
        source = new Source(sourcePort);
        Path file = write("site.toml", site(50, sourcePort));
        tapeline = logs.of(Tapeline.serving(
                "run", "--config", file.toString(), "--ni-port", "off", "--rssl-port", "0", "--ws-port", "0",
                "--admin-port", "0", "--backbone", "aeron:ipc"));
    }

    @AfterEach
    void stop() throws IOException {
        source.close();
        tapeline.close();
        try (var all = Files.walk(folder)) {
            all.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
        }
    }

    private Path write(String name, String text) throws IOException {
        return Files.writeString(folder.resolve(name), text);
    }

    /** A site with this bound on mounts, and a source on this port. */
    private static String site(int mounts, int source) {
        return """
                [server]
                shards = 2
                max-mounts = %d
                [[hub.source]]
                name = "feed"
                hosts = ["127.0.0.1:%d"]
                """.formatted(mounts, source);
    }

    /** Runs {@code tapeline config}; what it printed. */
    private String config(int status, String... arguments) {
        List<String> all = new ArrayList<>(List.of("config"));
        all.addAll(List.of(arguments));
        all.addAll(List.of("--admin", "127.0.0.1:" + tapeline.adminPort()));
        try (Tapeline program = Tapeline.printing(all.toArray(String[]::new))) {
            assertEquals(status, program.exit(WATCHED), program.log());
            return String.join("\n", program.output().all());
        }
    }

    /** A consumer, the items that it has open, and whether it hears anything but their updates. */
    private final class Desk implements AutoCloseable {
        private final Consumer consumer;
        private final Watchlist items;
        private long seq;

        Desk(Consumer consumer) {
            this.consumer = consumer;
            items = Watchlist.open(consumer, "KEPT", ITEMS);
        }

        /** An update comes for each item, and nothing but good data came before it. */
        void goesOn() {
            items.mark();
            seq++;
            for (int item = 0; item < ITEMS; item++) {
                String name = Watchlist.name("KEPT", item);
                update(name);
                items.awaitUpdate(item);
            }
            items.streams.forEach(stream -> {
                List<Event> all = stream.events.all();
                assertTrue(all.stream().allMatch(it -> it.isImage() || it.isUpdate()), all.toString());
                assertTrue(
                        all.stream().allMatch(it -> it.state() == null || it.says(StreamState.OPEN, DataState.OK)),
                        all.toString());
            });
        }

        /** The connection that the hub leaves may end just now, and the provider hears of it later. */
        private void update(String name) {
            long end = System.nanoTime() + Inbox.PATIENCE.toNanos();
            while (true) {
                try {
                    source.update(name, seq, Samples.quote(name));
                    return;
                } catch (OmmInvalidUsageException gone) {
                    if (System.nanoTime() > end) {
                        throw gone;
                    }
                    Thread.onSpinWait();
                }
            }
        }

        @Override
        public void close() {
            consumer.close();
        }
    }

    @Test
    void consumersNoticeNothingOfAChangeThatIsAppliedAndTakenBack() throws IOException {
        Path more = write("more.toml", site(60, sourcePort));
        try (Desk rssl = new Desk(new Consumer(Settings.Compression.NONE, tapeline.consumerPort()));
                Desk json = new Desk(Consumer.overJson(tapeline.webSocketPort()))) {
            rssl.goesOn();
            assertTrue(config(0, "plan", more.toString()).contains("server.max-mounts  50 -> 60"));
            assertTrue(config(0, "apply", more.toString(), "--watch", "0").endsWith("kept"));
            rssl.goesOn();
            json.goesOn();
            config(0, "rollback");
            rssl.goesOn();
            json.goesOn();
        }
    }

    @Test
    void aChangeThatLosesTheSourceIsTakenBackByItselfAndConsumersNoticeNothing() throws IOException {
        String before = Files.readString(folder.resolve("site.toml"));
        Path lost = write("lost.toml", site(50, Ports.free()));
        try (Desk desk = new Desk(new Consumer(Settings.Compression.NONE, tapeline.consumerPort()))) {
            desk.goesOn();
            String said = config(1, "apply", lost.toString(), "--watch", "60s");
            assertTrue(said.contains("taken back: ") && said.contains("sources are up"), said);
            // Until then an item may be on its way from the old connection to the new one. What this source says
            // meanwhile on the old one is in none of its images, as it would be of one with real data.
            tapeline.awaitLogged(1, "route is down", "the source is not configured any more");
            desk.goesOn();
            assertEquals(before, Files.readString(folder.resolve("site.toml")));
        }
    }
}
