package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.access.OmmInvalidUsageException;
import com.refinitiv.ema.access.OmmState.StreamState;
import com.refinitiv.ema.rdm.EmaRdm;
import com.refinitiv.eta.codec.MsgClasses;
import com.refinitiv.eta.transport.CompressionTypes;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Warm standby: an EMA consumer with two servers, one of which it takes its data from. */
@DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
class StandbyTest {
    private static final int ITEMS = 200;
    private static final int MOVING = 1_000;
    private static final int PER_SECOND = 10_000;
    private static final String ROLE = "a client gave a role";
    private static final String ACTIVE = "role=active";
    private static final String STANDBY = "role=standby";

    @RegisterExtension
    final Logs logs = new Logs();

    private final String backbone = "aeron:udp?control=127.0.0.1:" + Ports.free();

    private Tapeline hub(int source) {
        return logs.of(Tapeline.serving(
                "hub", "--source", "127.0.0.1:" + source, "--ni-port", "0", "--backbone", backbone));
    }

    private Tapeline server(int port) {
        return logs.of(Tapeline.serving("server", "--rssl-port", String.valueOf(port), "--backbone", backbone,
                "--admin-port", "0"));
    }

    /** Streams that the application was told are not open any more. */
    private static List<Event> ended(Watchlist items) {
        List<Event> ended = new ArrayList<>();
        for (Stream stream : items.streams) {
            ended.addAll(stream.events.all(e -> e.state() != null && e.state().stream() != StreamState.OPEN));
        }
        return ended;
    }

    @Test
    void theStandbyTakesOverWithoutARequestToTheSource() {
        int port = Ports.free();
        int restarted = Ports.free();
        try (Source source = new Source(port);
                Tapeline hub = hub(port);
                Tapeline first = server(restarted);
                Tapeline second = server(0)) {
            Tapeline back = null;
            try (Consumer consumer = Consumer.ofGroup(
                    Consumer.Standby.BY_LOGIN, 0, first.consumerPort(), second.consumerPort())) {
                first.awaitLogged(1, ROLE, ACTIVE);
                second.awaitLogged(1, ROLE, STANDBY);
                Watchlist items = Watchlist.open(consumer, "WARM", ITEMS);
                assertEquals(ITEMS, source.requests.all(r -> r.name().startsWith("WARM")).size());
                everyUpdateComesOnce(source, "WARM", items);
                onlyStandsBy(second);
                int requests = source.requests.size();
                items.mark();

                Watch watch = Watch.start();
                first.kill();
                awaitContent(items);
                watch.print("active server killed: all items live at the standby");
                second.awaitLogged(1, "a client has taken over");
                System.out.println("took: take-over: told meanwhile " + told(items));
                assertEquals(List.of(), ended(items));
                assertEquals(requests, source.requests.size(), "nothing is asked of the source");
                items.mark();
                // Before it may come what the new server had not had when it was told.
                source.update("WARM7.N", 22, Samples.tick(22));
                items.streams.get(7).events.await("the update", e -> e.isUpdate() && e.seq() == 22);

                // The one that was active comes back, and stands by.
                items.mark();
                back = server(restarted);
                back.awaitLogged(1, ROLE, STANDBY);
                back.awaitNumber("counters", "answers_on_standby", ITEMS);
                source.update("WARM3.N", 33, Samples.tick(33));
                items.streams.get(3).events.await("the update", e -> e.isUpdate() && e.seq() == 33);
                for (int i = 0; i < ITEMS; i++) {
                    List<Event> events = items.streams.get(i).events.all(
                            e -> e.isUpdate() && Samples.tick(33).equals(e.payload()));
                    assertEquals(i == 3 ? 1 : 0, events.size(), "item " + i);
                }
                assertEquals(List.of(), ended(items));
                onlyStandsBy(back);
            } finally {
                if (back != null) {
                    back.close();
                }
            }
        }
    }

    /** A server has been asked for all items, has answered each without content, and has sent nothing else. */
    private static void onlyStandsBy(Tapeline server) {
        server.awaitNumber("counters", "answers_on_standby", ITEMS);
        assertEquals(ITEMS, server.awaitNumber("counters", "answers_on_standby", 0));
        assertEquals(ITEMS, server.awaitNumber("counters", "items", 0));
        server.awaitNumber("counters", "updates_in", 1);
        assertEquals(0, server.awaitNumber("counters", "updates_out", 0));
    }

    /** The server has been asked for the items: a role may come to one that has no hub yet, and is asked for nothing. */
    private static void awaitOpen(Tapeline standby, int items) {
        standby.awaitNumber("counters", "items", items);
    }

    /**
     * Every item has an image again. An answer without content that was on its way when the server
     * became the active one may come before it.
     */
    private static void awaitContent(Watchlist items) {
        items.await("an image with content", e -> e.isImage() && e.payload() instanceof Value.Fields);
    }

    private static void everyUpdateComesOnce(Source source, String prefix, Watchlist items) {
        items.mark();
        for (int n = 1; n <= 5; n++) {
            for (int i = 0; i < ITEMS; i++) {
                source.update(Watchlist.name(prefix, i), n, Samples.tick(n));
            }
        }
        for (int i = 0; i < ITEMS; i++) {
            Inbox<Event> events = items.streams.get(i).events;
            events.await(5, "updates", Event::isUpdate);
            List<Long> numbers = events.all(Event::isUpdate).stream().map(Event::seq).toList();
            assertEquals(List.of(1L, 2L, 3L, 4L, 5L), numbers, "item " + i);
        }
    }

    /** What EMA told of items since the mark, and how often. */
    private static Map<String, Integer> told(Watchlist items) {
        Map<String, Integer> told = new TreeMap<>();
        for (Stream stream : items.streams) {
            for (Event event : stream.events.all(e -> e.is(Event.Kind.STATUS) && e.state() != null)) {
                Value.State state = event.state();
                told.merge(state.stream() + "/" + state.data() + " `" + state.text() + "`", 1, Integer::sum);
            }
        }
        return told;
    }

    @Test
    void theActiveServerIsKilledWhileAThousandItemsMove() {
        int port = Ports.free();
        try (Source source = new Source(port);
                Tapeline hub = hub(port);
                Tapeline first = server(0);
                Tapeline second = server(0);
                Consumer consumer = Consumer.ofGroup(
                        Consumer.Standby.BY_LOGIN, 0, first.consumerPort(), second.consumerPort())) {
            second.awaitLogged(1, ROLE, STANDBY);
            Flow flow = Flow.open(consumer, "STORM", MOVING);
            int requests = source.requests.size();
            try (Pace pace = new Pace(source, "STORM", MOVING, PER_SECOND)) {
                flow.awaitUpdates(PER_SECOND);
                awaitOpen(second, MOVING);
                flow.mark();
                first.kill();
                flow.awaitImages();
                double[] image = flow.imageMs();
                second.awaitLogged(1, "a client has taken over", "streams=" + MOVING);
                System.out.println(String.format(
                        Locale.ROOT,
                        "took: active server killed, %d items at %d/s: first item %.0f ms, last item %.0f ms; told %s",
                        MOVING, PER_SECOND, image[0], image[1], flow.told()));
                flow.awaitUpdates(PER_SECOND);
            }
            assertEquals(List.of(), flow.faults());
            assertEquals(requests, source.requests.size(), "nothing is asked of the source");
        }
    }

    @Test
    void aServiceIsActiveWhereItIsNamed() {
        int port = Ports.free();
        try (Source source = new Source(port);
                Tapeline hub = hub(port);
                Tapeline first = server(0);
                Tapeline second = server(0);
                Consumer consumer = Consumer.ofGroup(
                        Consumer.Standby.BY_SERVICE, 1, first.consumerPort(), second.consumerPort())) {
            second.awaitLogged(1, ROLE, "service=" + Source.SERVICE, ACTIVE);
            first.awaitLogged(1, ROLE, "service=" + Source.SERVICE, STANDBY);
            Watchlist items = Watchlist.open(consumer, "NAMED", ITEMS);
            awaitOpen(first, ITEMS);
            int requests = source.requests.size();
            items.mark();
            Watch watch = Watch.start();
            second.kill();
            first.awaitLogged(1, ROLE, "service=" + Source.SERVICE, ACTIVE);
            awaitContent(items);
            watch.print("server of a service killed: all items live at the other");
            assertEquals(requests, source.requests.size(), "nothing is asked of the source");
            assertEquals(List.of(), ended(items));
            source.update("NAMED7.N", 2, Samples.tick(2));
            items.streams.get(7).events.await("the update", e -> e.isUpdate() && e.seq() == 2);
        }
    }

    @ParameterizedTest
    @EnumSource(Consumer.Standby.class)
    void thePreferredServerTakesItsPlaceAgainOnLiveConnections(Consumer.Standby standby) {
        int port = Ports.free();
        int preferred = Ports.free();
        try (Source source = new Source(port);
                Tapeline hub = hub(port);
                Tapeline first = server(preferred);
                Tapeline second = server(0)) {
            Tapeline back = null;
            try (Consumer consumer = Consumer.ofGroupWithPreference(
                    standby, 0, first.consumerPort(), second.consumerPort())) {
                first.awaitLogged(1, ROLE, ACTIVE);
                second.awaitLogged(1, ROLE, STANDBY);
                Watchlist items = Watchlist.open(consumer, "PREF", ITEMS);
                awaitOpen(second, ITEMS);
                first.kill();
                second.awaitLogged(1, "a client has taken over");
                awaitContent(items);
                back = server(preferred);
                back.awaitLogged(1, ROLE, STANDBY);
                back.awaitNumber("counters", "items", ITEMS);
                int requests = source.requests.size();
                items.mark();
                Watch watch = Watch.start();
                consumer.ema.fallbackPreferredHost();
                back.awaitLogged(1, ROLE, ACTIVE);
                second.awaitLogged(2, ROLE, STANDBY);
                awaitContent(items);
                watch.print("the preferred server is active again");
                everyUpdateComesOnce(source, "PREF", items);
                assertEquals(List.of(), ended(items));
                assertEquals(requests, source.requests.size(), "nothing is asked of the source");
                for (Tapeline server : List.of(back, second)) {
                    assertFalse(server.log().contains("a mount is closed"), server.log());
                }
            } finally {
                if (back != null) {
                    back.close();
                }
            }
        }
    }

    @Test
    void theSourceGetsAPostOnce() {
        int port = Ports.free();
        try (Source source = new Source(port);
                Tapeline hub = hub(port);
                Tapeline first = server(0);
                Tapeline second = server(0);
                Consumer consumer = Consumer.ofGroup(
                        Consumer.Standby.BY_LOGIN, 0, first.consumerPort(), second.consumerPort())) {
            second.awaitLogged(1, ROLE, STANDBY);
            Stream stream = openOnBoth(consumer, second);
            int begin = postThree(1, consumer, stream);
            List<Long> ids = source.posts.all().stream().map(Source.Post::id).filter(id -> id >= begin).toList();
            assertEquals(List.of(begin + 0L, begin + 1L, begin + 2L), ids, source.posts.all().toString());
            List<Event> acks = stream.events.all(e -> e.is(Event.Kind.ACK) && e.ack().id() >= begin);
            assertEquals(3, acks.size(), acks.toString());
            assertTrue(acks.stream().allMatch(e -> e.ack().nak() == null), acks.toString());
        }
    }

    /**
     * The server that dies has passed a post on, and takes its ack with it. The vendor's library (3.9.1) tells the
     * application nothing of that post, not even after its own time-out; nothing may tell that it was done.
     */
    @Test
    void aPostWhoseServerDiesBeforeTheAckIsNotTakenForDone() {
        int port = Ports.free();
        try (Source source = new Source(port);
                Tapeline hub = hub(port);
                Tapeline first = server(0);
                Tapeline second = server(0);
                Consumer consumer = Consumer.ofGroup(
                        Consumer.Standby.BY_LOGIN, 0, first.consumerPort(), second.consumerPort())) {
            second.awaitLogged(1, ROLE, STANDBY);
            Stream stream = openOnBoth(consumer, second);
            postThree(1, consumer, stream);
            post(consumer, stream, Source.UNANSWERED);
            source.posts.await("the post", post -> post.id() == Source.UNANSWERED);
            // Both servers have had it, and the one that stands by has answered.
            second.awaitNumber("counters", "posts_on_standby", 4);
            first.kill();
            second.awaitLogged(1, "a client has taken over");
            // The next ones go their way.
            postThree(Source.UNANSWERED / 2, consumer, stream);
            assertEquals(1, source.posts.all(post -> post.id() == Source.UNANSWERED).size(), "the source has it once");
            List<Event> done = stream.events.all(
                    e -> e.is(Event.Kind.ACK) && e.ack().id() == Source.UNANSWERED && e.ack().nak() == null);
            assertEquals(List.of(), done);
        }
    }

    /** The item that is posted to. The vendor's library posts to those servers that it has asked for it. */
    private static Stream openOnBoth(Consumer consumer, Tapeline standby) {
        Stream stream = consumer.open(Source.SERVICE, "POST.N");
        stream.image();
        awaitOpen(standby, 1);
        return stream;
    }

    /**
     * Posts three times, with ids from one on, and waits for the acks. The vendor's library refuses a post while one
     * of its servers has been asked for the item and has not answered, which may begin after the first post: then all
     * three are made anew, with other ids. Returns the first of those that all were taken.
     */
    private static int postThree(int from, Consumer consumer, Stream stream) {
        Watch watch = Watch.start();
        for (int first = from; ; first += 3) {
            try {
                for (int id = first; id < first + 3; id++) {
                    post(consumer, stream, id);
                    int last = id;
                    stream.events.await("an ack", e -> e.is(Event.Kind.ACK) && e.ack().id() == last);
                }
                return first;
            } catch (OmmInvalidUsageException notYet) {
                if (watch.ms() > 20_000) {
                    throw notYet;
                }
                Thread.onSpinWait();
            }
        }
    }

    private static void post(Consumer consumer, Stream stream, int id) {
        // Without a key the vendor's library fails on a post of a group.
        consumer.ema.submit(
                EmaFactory.createPostMsg().domainType(EmaRdm.MMT_MARKET_PRICE).postId(id).seqNum(id)
                        .solicitAck(true).complete(true).serviceName(Source.SERVICE).name("POST.N")
                        .payload(Encode.fieldList(Samples.tick(id))),
                stream.handle);
    }

    @Test
    void aSourceOfTheStandbyThatFailedAndCameBackClosesNothing() {
        int[] ports = {Ports.free(), Ports.free()};
        Source source = new Source(ports[1]);
        try (Source feed = new Source(ports[0]);
                Tapeline first = logs.of(Tapeline.run(ports[0]));
                Tapeline second = logs.of(Tapeline.run(ports[1]));
                Consumer consumer = Consumer.ofGroup(
                        Consumer.Standby.BY_LOGIN, 0, first.consumerPort(), second.consumerPort())) {
            second.awaitLogged(1, ROLE, STANDBY);
            Watchlist items = Watchlist.open(consumer, "TWO", ITEMS);
            source.requests.await(ITEMS, "requests of the standby", r -> r.name().startsWith("TWO"));
            source.close();
            second.awaitLogged(1, "a service is down");
            source = new Source(ports[1]);
            source.requests.await(ITEMS, "requests of the standby", r -> r.name().startsWith("TWO"));
            feed.update("TWO1.N", 1, Samples.tick(1));
            assertEquals(Samples.tick(1), items.awaitUpdate(1).payload());
            items.mark();
            first.kill();
            awaitContent(items);
            assertEquals(List.of(), ended(items));
        } finally {
            source.close();
        }
    }

    @Test
    void aClientWithoutAWatchlistIsServedByItsWord() {
        int port = Ports.free();
        try (Source source = new Source(port);
                Tapeline tapeline = logs.of(Tapeline.run(port));
                EtaConsumer consumer = new EtaConsumer(tapeline.consumerPort(), CompressionTypes.NONE)) {
            consumer.login(1, 1);
            consumer.open(10, EmaRdm.MMT_MARKET_PRICE, consumer.service(Source.SERVICE), "BARE.N");
            consumer.await("an image", each -> each.stream() == 10 && each.isRefresh());
            for (boolean isTakenBack : new boolean[] {false, true}) {
                consumer.role(1);
                tapeline.awaitLogged(isTakenBack ? 2 : 1, ROLE, STANDBY);
                int before = consumer.received().size();
                source.update("BARE.N", 1, Samples.tick(1));
                if (isTakenBack) {
                    consumer.noRole();
                } else {
                    consumer.role(0);
                }
                consumer.await(isTakenBack ? 3 : 2, "an image", each -> each.stream() == 10 && each.isRefresh());
                source.update("BARE.N", 2, Samples.tick(2));
                consumer.await(isTakenBack ? 2 : 1, "an update", each -> each.stream() == 10 && each.isUpdate());
                List<Integer> classes = consumer.received().subList(before, consumer.received().size()).stream()
                        .filter(each -> each.stream() == 10)
                        .map(EtaConsumer.Received::msgClass)
                        .toList();
                assertEquals(List.of(MsgClasses.REFRESH, MsgClasses.UPDATE), classes);
            }
        }
    }
}
