package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.refinitiv.ema.access.ElementList;
import com.refinitiv.ema.access.OmmState.DataState;
import com.refinitiv.ema.access.OmmState.StatusCode;
import com.refinitiv.ema.access.OmmState.StreamState;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Bounds on what is under way, on output and on memory, reached by EMA consumers: who is within them notices nothing. */
@DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
class ResourceTest {
    /** The least that there can be for all mounts together. */
    private static final int POOL_BYTES = 1_048_576;

    private static final int UPDATES_AT_A_TIME = 500;
    /** A twentieth of what had made the neighbour slow when it did not run for a while. */
    private static final int UPDATES_UNREAD = 25;
    private static final Duration CHANGE = Duration.ofSeconds(30);

    @RegisterExtension
    final Logs logs = new Logs();

    @RegisterExtension
    final Opened opened = new Opened();
    private Path folder;
    private Source source;
    private int sourcePort;
    private Tapeline tapeline;
    /** What else the configuration says of the source. */
    private String ofSource = "";

    @AfterEach
    void stop() throws Exception {
        opened.close();
        if (folder != null) {
            try (var all = Files.walk(folder)) {
                all.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
            }
        }
    }

    private void start(String server, ElementList load) throws IOException {
        sourcePort = Ports.free();
        source = opened.keep(load == null ? new Source(sourcePort) : new Source(sourcePort, load));
        folder = Files.createTempDirectory("tapeline-resources");
        Path file = site("site.toml", server);
        tapeline = opened.keep(logs.of(Tapeline.serving(
                "run", "--config", file.toString(), "--ni-port", "off", "--rssl-port", "0", "--ws-port", "0",
                "--admin-port", "0", "--backbone", "aeron:ipc")));
    }

    private Path site(String name, String server) throws IOException {
        return Files.writeString(folder.resolve(name), """
                [[hub.source]]
                name = "feed"
                hosts = ["127.0.0.1:%d"]
                %s
                [server]
                %s
                """.formatted(sourcePort, ofSource, server));
    }

    /** Puts other settings of the server in force. */
    private void change(String server) throws IOException {
        Path next = site("next.toml", server);
        try (Tapeline program = Tapeline.printing(
                "config", "apply", next.toString(), "--watch", "0", "--admin",
                "127.0.0.1:" + tapeline.adminPort())) {
            assertEquals(0, program.exit(CHANGE), program.log());
        }
    }

    private Consumer consumer(String user) {
        return opened.keep(new Consumer(new Consumer.User(user), tapeline.consumerPort()));
    }

    private static Stream shown(Consumer consumer, String name) {
        Stream stream = consumer.open(Source.SERVICE, name);
        assertTrue(stream.image().says(StreamState.OPEN, DataState.OK));
        return stream;
    }

    private static Stream snapshot(Consumer consumer, String name) {
        return consumer.open(Consumer.request(Source.SERVICE, name).interestAfterRefresh(false), name);
    }

    private static void assertGiven(Stream snapshot) {
        assertTrue(snapshot.image().says(StreamState.NON_STREAMING, DataState.OK));
    }

    private void assertLive(Stream stream, String name) {
        int mark = stream.events.size();
        source.update(name, 1, Samples.tick(1));
        stream.updateFrom(mark);
    }

    private void assertNotAskedFor(String name) {
        assertTrue(source.requests.all(request -> request.name().equals(name)).isEmpty());
    }

    private void awaitAskedFor(String name) {
        source.requests.await("a request", request -> request.name().equals(name));
    }

    @Test
    void snapshotsBeyondTheWindowWaitAndBeyondTheirQueueAreRefusedAndNobodyElseNotices() throws IOException {
        start("snapshot-window = 2\nsnapshot-queue = 1", null);
        Consumer ann = consumer("ann");
        Stream first = snapshot(ann, "HELD1.N");
        snapshot(ann, "HELD2.N");
        awaitAskedFor("HELD1.N");
        awaitAskedFor("HELD2.N");
        Stream waits = snapshot(ann, "WAITS.N");
        tapeline.awaitCounted("tapeline_server_opens_waiting", 1);
        tapeline.awaitCounted("tapeline_server_opens_paced_total", 1);
        Event end = snapshot(ann, "MORE.N").closed();
        assertEquals(StatusCode.NO_RESOURCES, end.state().code(), end.toString());
        assertEquals("Too many snapshots wait", end.state().text());
        tapeline.awaitCounted("tapeline_server_opens_limited_total", 1);
        // Streams are no snapshots, and another mount has a window of its own.
        assertLive(shown(ann, "LIVE.N"), "LIVE.N");
        assertGiven(snapshot(consumer("bob"), "BOB.N"));
        assertNotAskedFor("WAITS.N");
        source.release("HELD1.N");
        assertGiven(first);
        assertGiven(waits);
        tapeline.awaitCounted("tapeline_server_opens_waiting", 0);
    }

    @Test
    void snapshotsOfAUserBeyondThoseOfASecondWaitForTheirTurn() throws IOException {
        start("snapshots-per-s = 4", null);
        Consumer ann = consumer("ann");
        Watch watch = Watch.start();
        List<Stream> all = LongStream.range(0, 12).mapToObj(i -> snapshot(ann, "SNAP" + i + ".N")).toList();
        assertGiven(snapshot(consumer("bob"), "BOB.N"));
        all.forEach(ResourceTest::assertGiven);
        // Four at once, eight more at four a second.
        double ms = watch.ms();
        assertTrue(ms >= 1_500, "after " + ms + " ms");
        assertEquals(8, tapeline.counted("tapeline_server_opens_paced_total"));
        tapeline.awaitCounted("tapeline_server_opens_waiting", 0);
    }

    /** Of a server towards its hub, and of a source, which says so itself or for which the hub says it. */
    @CsvSource({
        "open-window = 2, '', 0, tapeline_server_requests_queued",
        "'', '', 2, tapeline_hub_unsent_upstream",
        "'', open-window = 2, 0, tapeline_hub_unsent_upstream",
        "'', open-window = 2, 50, tapeline_hub_unsent_upstream"
    })
    @ParameterizedTest
    void requestsBeyondAnOpenWindowWaitAndWhatIsOpenGoesOn(
            String server, String source, int sourceWindow, String counter) throws IOException {
        ofSource = source;
        start(server, sourceWindow == 0 ? null : Settings.elements("OpenWindow", sourceWindow));
        Consumer bob = consumer("bob");
        Stream live = shown(bob, "LIVE.N");
        Consumer ann = consumer("ann");
        Stream first = ann.open(Source.SERVICE, "HELD1.N");
        Stream second = ann.open(Source.SERVICE, "HELD2.N");
        awaitAskedFor("HELD1.N");
        awaitAskedFor("HELD2.N");
        Stream waits = ann.open(Source.SERVICE, "WAITS.N");
        Stream alsoWaits = bob.open(Source.SERVICE, "ALSO.N");
        tapeline.awaitCounted(counter, 2);
        assertLive(live, "LIVE.N");
        // What is open already needs no room.
        assertLive(shown(consumer("cid"), "LIVE.N"), "LIVE.N");
        assertNotAskedFor("WAITS.N");
        assertNotAskedFor("ALSO.N");
        this.source.release("HELD1.N");
        for (Stream stream : List.of(first, waits, alsoWaits)) {
            assertTrue(stream.image().says(StreamState.OPEN, DataState.OK));
        }
        tapeline.awaitCounted(counter, 0);
        assertEquals(0, second.events.size());
        this.source.release("HELD2.N");
        assertTrue(second.image().says(StreamState.OPEN, DataState.OK));
    }

    /** A mount whose client reads nothing, and one that reads everything. */
    private final class Pair {
        final Valve valve = opened.keep(new Valve(tapeline.consumerPort()));
        final Stream stalled =
                shown(opened.keep(new Consumer(new Consumer.User("ann"), valve.port())), "ONE.N");
        final Stream neighbour = shown(consumer("bob"), "ONE.N");
        long sent;

        /** The first client reads nothing while so many bytes and more are sent to both. */
        void send() {
            Value.Fields large = Samples.everyType();
            for (int i = 0; i < UPDATES_AT_A_TIME; i++) {
                sent++;
                source.update("ONE.N", sent, large);
                // Never so much that the neighbour, which may not have the processor just now, is slow too.
                if (sent % UPDATES_UNREAD == 0) {
                    neighbour.events.await((int) sent, "updates", Event::isUpdate);
                }
            }
            neighbour.events.await((int) sent, "updates", Event::isUpdate);
        }

        void assertNeighbourHasAll() {
            assertEquals(
                    LongStream.rangeClosed(1, sent).boxed().toList(),
                    neighbour.events.all(Event::isUpdate).stream().map(Event::seq).toList());
            assertTrue(neighbour.events.all(Event::isImage).size() == 1);
        }
    }

    private static String pool(boolean conflation) {
        return "output-pool-bytes = %d\ntcp-send-buffer-bytes = 16384\nconflation = %b".formatted(POOL_BYTES, conflation);
    }

    @Test
    void whoReadsLeastIsCutWhenTheOutputOfAllIsFullAndNobodyElseNotices() throws IOException {
        start(pool(false), null);
        Pair pair = new Pair();
        int mark = pair.stalled.events.size();
        pair.valve.shut();
        long end = System.nanoTime() + Inbox.PATIENCE.toNanos();
        while (tapeline.counted("tapeline_server_mounts_cut_for_pool_total") == 0) {
            assertTrue(System.nanoTime() < end, tapeline.log());
            pair.send();
        }
        tapeline.awaitCounted("tapeline_server_mounts_cut_total", 1);
        tapeline.awaitLogged(1, "a mount is cut", "user=ann", "the outputs of all mounts are full together");
        pair.send();
        pair.assertNeighbourHasAll();
        assertTrue(tapeline.counted("tapeline_server_output_peak_bytes") <= 2 * POOL_BYTES);
        // Its library comes again, and has an image.
        pair.valve.open();
        pair.stalled.stale(mark);
        pair.stalled.fresh(mark);
        tapeline.awaitCounted("tapeline_server_mounts_cut_total", 1);
    }

    @Test
    void whoReadsLeastHasItsUpdatesMergedBeforeTheOutputOfAllIsFull() throws IOException {
        start(pool(true), null);
        Pair pair = new Pair();
        pair.valve.shut();
        long end = System.nanoTime() + Inbox.PATIENCE.toNanos();
        while (tapeline.counted("tapeline_server_mounts_slowed_total") == 0) {
            assertTrue(System.nanoTime() < end, tapeline.log());
            pair.send();
        }
        tapeline.awaitLogged(1, "a mount is slow", "user=ann");
        // Whatever comes now is one update for it, and takes nothing of the pool.
        for (int i = 0; i < 4; i++) {
            pair.send();
        }
        source.update("ONE.N", ++pair.sent, Samples.tick(7));
        pair.neighbour.events.await((int) pair.sent, "updates", Event::isUpdate);
        pair.assertNeighbourHasAll();
        assertTrue(tapeline.counted("tapeline_server_updates_merged_total") > 0);
        pair.valve.open();
        pair.stalled.events.await(
                "the last value", it -> Samples.tick(7).get(Samples.BID).equals(it.fields().get(Samples.BID)));
        assertEquals(0, tapeline.counted("tapeline_server_mounts_cut_total"));
    }

    @Test
    void whereMemoryIsScarceImagesGoAndStreamsGoOn() throws IOException {
        start("", null);
        Consumer ann = consumer("ann");
        Stream one = shown(ann, "ONE.N");
        Stream two = shown(ann, "TWO.N");
        assertEquals(0, tapeline.counted("tapeline_server_images_let_go_total"));
        // More than 95 % of it are used, whatever it is.
        change("memory-max-bytes = 1000");
        tapeline.awaitLogged(1, "memory is short");
        tapeline.awaitCounted("tapeline_server_images_let_go_total", 2);
        assertLive(one, "ONE.N");
        assertLive(two, "TWO.N");
        Consumer bob = consumer("bob");
        Event end = bob.open(Source.SERVICE, "ONE.N").closed();
        assertEquals(StatusCode.NO_RESOURCES, end.state().code(), end.toString());
        assertEquals("The server is short of memory", end.state().text());
        tapeline.awaitCounted("tapeline_server_opens_limited_total", 1);
        change("memory-max-bytes = 0");
        tapeline.awaitLogged(1, "memory is enough again");
        // The image that went is asked for again, and everybody goes on.
        int reissues = source.reissues.size();
        Stream late = shown(bob, "ONE.N");
        source.reissues.awaitFrom(reissues, "a request for the image", it -> it.name().equals("ONE.N"));
        assertLive(late, "ONE.N");
        assertTrue(one.events.all().stream().allMatch(it -> it.isUpdate() || it.says(StreamState.OPEN, DataState.OK)));
    }
}
