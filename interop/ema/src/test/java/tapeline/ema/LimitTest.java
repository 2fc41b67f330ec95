package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.refinitiv.ema.access.ElementList;
import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.access.OmmException;
import com.refinitiv.ema.access.OmmState.DataState;
import com.refinitiv.ema.access.OmmState.StatusCode;
import com.refinitiv.ema.access.OmmState.StreamState;
import com.refinitiv.ema.access.ReqMsg;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Bounds of a server and of a source, reached by EMA consumers: what is one too many is told, and nobody else notices. */
@DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
class LimitTest {
    private static final String TOO_MANY = "Item limit reached";

    /** How long a consumer tries that is not to get through. */
    private static final int VAIN_MS = 3_000;

    /** When a hub that refused an item is asked again, and longer. */
    private static final Duration RETRY = Duration.ofSeconds(45);

    @RegisterExtension
    final Logs logs = new Logs();

    @RegisterExtension
    final Opened opened = new Opened();
    private Source source;
    private Tapeline tapeline;

    private void start(String server, ElementList load) {
        int port = Ports.free();
        source = opened.keep(load == null ? new Source(port) : new Source(port, load));
        tapeline = opened.keep(logs.of(Tapeline.run("""
                [[hub.source]]
                hosts = ["127.0.0.1:%d"]
                [admin]
                port = 0
                [server]
                %s
                """.formatted(port, server))));
    }

    private Consumer consumer(String user) {
        return opened.keep(new Consumer(new Consumer.User(user), tapeline.consumerPort()));
    }

    private static Stream shown(Consumer consumer, String name) {
        Stream stream = consumer.open(Source.SERVICE, name);
        assertTrue(stream.image().says(StreamState.OPEN, DataState.OK));
        return stream;
    }

    private static void assertTooMany(Consumer consumer, String name) {
        Event end = consumer.open(Source.SERVICE, name).closed();
        assertEquals(StatusCode.TOO_MANY_ITEMS, end.state().code(), end.toString());
        assertEquals(TOO_MANY, end.state().text());
    }

    private void assertLive(Stream stream, String name) {
        int mark = stream.events.size();
        source.update(name, 1, Samples.tick(1));
        stream.updateFrom(mark);
    }

    /** Each bound on items, two: of a mount, of a user, of the server. The server's is shared by all users. */
    @ParameterizedTest
    @CsvSource({"item-limit-per-mount, ann, false", "item-limit, ann, false", "max-items, bob, true"})
    void oneItemMoreThanMayBeIsRefusedAndNobodyElseNotices(String bound, String second, boolean isShared) {
        start(bound + " = 2", null);
        Consumer ann = consumer("ann");
        Stream one = shown(ann, "ONE.N");
        Stream two = shown(ann, "TWO.N");
        Consumer other = bound.equals("item-limit-per-mount") ? ann : consumer(second);
        assertTooMany(other, "THREE.N");
        tapeline.awaitCounted("tapeline_server_opens_limited_total", 1);
        assertLive(one, "ONE.N");
        // Another user has what is left, and the server the item that is open already.
        Consumer neighbour = consumer("cid");
        assertLive(shown(neighbour, isShared ? "ONE.N" : "THREE.N"), isShared ? "ONE.N" : "THREE.N");
        // Who closes has room again.
        ann.ema.unregister(two.handle);
        source.closes.await("a close", "TWO.N"::equals);
        shown(other, "FOUR.N");
    }

    @Test
    void aUserWithAnItemLimitOfHisOwnHasThat() {
        start("item-limit = 1\n[[server.user]]\nname = \"bob\"\nitem-limit = 2", null);
        Consumer ann = consumer("ann");
        shown(ann, "ONE.N");
        assertTooMany(ann, "TWO.N");
        Consumer bob = consumer("bob");
        shown(bob, "ONE.N");
        shown(bob, "TWO.N");
        assertTooMany(bob, "THREE.N");
    }

    @Test
    void aUserWithABoundOnMountsOfHisOwnHasThatAndOthersHaveNone() {
        start("[[server.user]]\nname = \"bob\"\nmax-mounts = 1", null);
        Stream live = shown(consumer("bob"), "ONE.N");
        OmmException refused = assertThrows(
                OmmException.class,
                () -> new Consumer(new Consumer.User("bob"), tapeline.consumerPort()).close());
        assertTrue(refused.getMessage().contains("The user has all the mounts it may have"), refused.getMessage());
        tapeline.awaitCounted("tapeline_server_logins_refused_total", 1);
        shown(consumer("ann"), "ONE.N");
        shown(consumer("ann"), "ONE.N");
        assertLive(live, "ONE.N");
    }

    @Test
    void aUserHasNoMoreItemsThanHisRoleAllows() throws IOException {
        Path policy = Files.createTempFile("tapeline-policy", ".toml");
        Files.writeString(policy, """
                version = 1
                [entitle]
                no-lock = "subject"
                [[role]]
                name = "few"
                grants = [{ service = "EMA_FEED" }]
                item-limit = 1
                [[role]]
                name = "many"
                grants = [{ service = "EMA_FEED" }]
                [[user]]
                name = "ann"
                roles = ["few"]
                [[user]]
                name = "bob"
                roles = ["many"]
                """);
        opened.keep(() -> Files.delete(policy));
        start("[entitle]\npolicy = \"" + policy + "\"", null);
        Stream one = shown(consumer("ann"), "ONE.N");
        // The bound is of all her mounts together.
        assertTooMany(consumer("ann"), "TWO.N");
        tapeline.awaitCounted("tapeline_server_opens_limited_total", 1);
        Consumer bob = consumer("bob");
        shown(bob, "ONE.N");
        shown(bob, "TWO.N");
        assertLive(one, "ONE.N");
    }

    @Test
    void aUserHasNoMoreMountsThanAllowed() {
        start("max-mounts-per-user = 1", null);
        Stream live = shown(consumer("ann"), "ONE.N");
        OmmException refused = assertThrows(
                OmmException.class,
                () -> new Consumer(new Consumer.User("ann"), tapeline.consumerPort()).close());
        assertTrue(refused.getMessage().contains("The user has all the mounts it may have"), refused.getMessage());
        tapeline.awaitCounted("tapeline_server_logins_refused_total", 1);
        shown(consumer("bob"), "ONE.N");
        assertLive(live, "ONE.N");
    }

    @Test
    void theServerHasNoMoreMountsThanAllowed() {
        start("max-mounts = 1", null);
        Consumer ann = new Consumer(new Consumer.User("ann"), tapeline.consumerPort());
        try (ann) {
            Stream live = shown(ann, "ONE.N");
            assertThrows(OmmException.class, () -> Consumer.inVain(tapeline.consumerPort(), VAIN_MS).close());
            assertTrue(tapeline.counted("tapeline_channel_refused_total") > 0);
            tapeline.awaitLogged(1, "a connection did not become a mount", "Too many connections.");
            assertLive(live, "ONE.N");
        }
        shown(consumer("bob"), "ONE.N");
    }

    @Test
    void aHubHasNoMoreItemsThanAllowed() {
        start("[hub]\nmax-items = 2", null);
        Consumer ann = consumer("ann");
        Stream one = shown(ann, "ONE.N");
        Stream two = shown(ann, "TWO.N");
        Consumer bob = consumer("bob");
        // The server recovers for its clients: it waits, and asks again by itself.
        Stream waiting = bob.open(Source.SERVICE, "THREE.N");
        Event told = waiting.stale(0);
        assertEquals(StatusCode.TOO_MANY_ITEMS, told.state().code(), told.toString());
        assertTrue(tapeline.counted("tapeline_hub_limited_total") > 0);
        shown(bob, "ONE.N");
        assertLive(one, "ONE.N");
        ann.ema.unregister(two.handle);
        source.closes.await("a close", "TWO.N"::equals);
        waiting.events.awaitFrom(0, "an image", Event::isImage, RETRY);
        assertLive(waiting, "THREE.N");
    }

    @Test
    void theClassOfARequestIsNoHigherThanARoleMayHave() throws IOException {
        Path policy = Files.createTempFile("tapeline-policy", ".toml");
        Files.writeString(policy, """
                version = 1
                [entitle]
                no-lock = "subject"
                [[role]]
                name = "all"
                grants = [{ service = "EMA_FEED" }]
                max-priority-class = 2
                [[role]]
                name = "first"
                grants = [{ service = "EMA_FEED" }]
                [[user]]
                name = "ann"
                roles = ["all"]
                [[user]]
                name = "bob"
                roles = ["first"]
                """);
        opened.keep(() -> Files.delete(policy));
        start("[entitle]\npolicy = \"" + policy + "\"", openLimit(1));
        Stream bob = wanted(consumer("bob"), "BOB.N", 3, 1);
        assertTrue(bob.image().says(StreamState.OPEN, DataState.OK));
        // Ann says 9, has 2, and waits.
        Stream ann = wanted(consumer("ann"), "ANN.N", 9, 1);
        assertLive(bob, "BOB.N");
        int mark = bob.events.size();
        // The same from bob goes before him himself.
        Stream first = wanted(consumer("bob"), "FIRST.N", 9, 1);
        assertTrue(first.image().says(StreamState.OPEN, DataState.OK));
        bob.stale(mark);
        assertTrue(ann.events.all(Event::isImage).isEmpty());
    }

    private static ElementList openLimit(int items) {
        return Settings.elements("OpenLimit", items);
    }

    private static Stream wanted(Consumer consumer, String name, int priorityClass, int count) {
        ReqMsg request = Consumer.request(Source.SERVICE, name).priority(priorityClass, count);
        return consumer.open(request, name);
    }

    @Test
    void whatIsWantedMoreTakesThePlaceAtASourceAndTheOtherReturns() {
        start("", openLimit(1));
        givesWayAndReturns(consumer("ann"), consumer("bob"), "tapeline_hub_preempted_total", () -> {});
    }

    /** The same at a bound of the server: of a mount, of a user over two mounts, of all. */
    @ParameterizedTest
    @CsvSource({"item-limit-per-mount, ann", "item-limit, ann", "max-items, bob"})
    void whatIsWantedMoreTakesThePlaceAtTheServerAndTheOtherReturns(String bound, String second) {
        start(bound + " = 1", null);
        Consumer ann = consumer("ann");
        Consumer other = bound.equals("item-limit-per-mount") ? ann : consumer(second);
        givesWayAndReturns(
                ann, other, "tapeline_server_streams_preempted_total", () -> assertTooMany(other, "ASMUCH.N"));
    }

    @Test
    void aServiceHasNoMoreItemsThanAllowedAndWhatIsWantedMoreTakesThePlace() {
        start("[[service]]\nname = \"" + Source.SERVICE + "\"\nmax-items = 1", null);
        Consumer bob = consumer("bob");
        givesWayAndReturns(
                consumer("ann"),
                bob,
                "tapeline_server_streams_preempted_total",
                () -> assertTooMany(bob, "ASMUCH.N"));
    }

    /** There is room for one item, and two are wanted, one of them more. */
    private void givesWayAndReturns(Consumer first, Consumer second, String counter, Runnable before) {
        Stream little = wanted(first, "LITTLE.N", 1, 1);
        assertTrue(little.image().says(StreamState.OPEN, DataState.OK));
        int mark = little.events.size();
        before.run();
        Stream much = wanted(second, "MUCH.N", 3, 5);
        assertTrue(much.image().says(StreamState.OPEN, DataState.OK));
        Event gone = little.stale(mark);
        assertEquals(StatusCode.PREEMPTED, gone.state().code(), gone.toString());
        source.closes.await("the close of what gave way", "LITTLE.N"::equals);
        tapeline.awaitCounted(counter, 1);
        assertLive(much, "MUCH.N");
        // Where there is room again, it is asked for again: by itself.
        mark = little.events.size();
        second.ema.unregister(much.handle);
        little.fresh(mark);
        assertLive(little, "LITTLE.N");
    }

    @Test
    void whatIsAskedForTooFastComesLaterAndNothingFails() {
        start("opens-per-s = 4\nimages-per-s = 4", null);
        Consumer ann = consumer("ann");
        Stream live = shown(consumer("bob"), "A0.N");
        List<Stream> all = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            all.add(ann.open(Source.SERVICE, "A" + i + ".N"));
        }
        tapeline.awaitCounted("tapeline_server_opens_paced_total", 8);
        assertLive(live, "A0.N");
        for (Stream stream : all) {
            assertTrue(stream.image().says(StreamState.OPEN, DataState.OK));
        }
        tapeline.awaitCounted("tapeline_server_opens_waiting", 0);
    }

    @Test
    void snapshotsThatAUserAsksForTooFastComeLater() {
        start("snapshots-per-s = 2", null);
        Consumer ann = consumer("ann");
        Stream live = shown(consumer("bob"), "A0.N");
        List<Stream> all = new ArrayList<>();
        long began = System.nanoTime();
        for (int i = 0; i < 6; i++) {
            String name = "A" + i + ".N";
            all.add(ann.open(Consumer.request(Source.SERVICE, name).interestAfterRefresh(false), name));
        }
        for (Stream stream : all) {
            assertEquals(StreamState.NON_STREAMING, stream.image().state().stream());
        }
        assertLater(began, Duration.ofMillis(1_900));
        assertTrue(tapeline.counted("tapeline_server_opens_paced_total") > 0);
        tapeline.awaitCounted("tapeline_server_opens_waiting", 0);
        assertLive(live, "A0.N");
    }

    @Test
    void imagesOutOfTheCacheTakeTheirTurns() {
        start("images-per-s = 4", null);
        Consumer bob = consumer("bob");
        Consumer ann = consumer("ann");
        List<Stream> all = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            shown(bob, "A" + i + ".N");
        }
        long began = System.nanoTime();
        for (int i = 0; i < 12; i++) {
            all.add(ann.open(Source.SERVICE, "A" + i + ".N"));
        }
        for (Stream stream : all) {
            assertTrue(stream.image().says(StreamState.OPEN, DataState.OK));
        }
        // Four at once, the other eight in their turns.
        assertLater(began, Duration.ofMillis(1_900));
        assertTrue(tapeline.counted("tapeline_server_images_put_off_total") > 0);
        for (int i = 0; i < 12; i++) {
            assertLive(all.get(i), "A" + i + ".N");
        }
    }

    private static void assertLater(long beganNanos, Duration least) {
        Duration took = Duration.ofNanos(System.nanoTime() - beganNanos);
        assertTrue(took.compareTo(least) >= 0, "after " + took);
    }

    @Test
    void aServerThatIsShortOfMemoryOpensNothing() {
        start("memory-max-bytes = 1000", null);
        tapeline.awaitLogged(1, "memory is short");
        Event end = consumer("ann").open(Source.SERVICE, "ONE.N").closed();
        assertEquals(StatusCode.NO_RESOURCES, end.state().code(), end.toString());
        assertEquals("The server is short of memory", end.state().text());
    }
}
