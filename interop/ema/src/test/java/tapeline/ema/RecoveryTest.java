package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.refinitiv.ema.access.OmmState.DataState;
import com.refinitiv.ema.access.OmmState.StatusCode;
import com.refinitiv.ema.access.OmmState.StreamState;
import com.refinitiv.ema.rdm.EmaRdm;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Trouble at the source: streams go stale and come back on the same handles. */
class RecoveryTest {
    private static final Duration RETURN = Duration.ofSeconds(30);

    @RegisterExtension
    final Market market = new Market();

    private static List<Stream> open(Consumer consumer, String prefix, int count) {
        List<Stream> streams = IntStream.range(0, count)
                .mapToObj(i -> consumer.open(Source.SERVICE, prefix + i + ".N"))
                .toList();
        streams.forEach(Stream::image);
        return streams;
    }

    private static List<Integer> marks(List<Stream> streams) {
        return streams.stream().map(stream -> stream.events.size()).toList();
    }

    private static List<Event> awaitAll(
            List<Stream> streams, List<Integer> marks, String what, Predicate<Event> which) {
        List<Event> events = new ArrayList<>();
        for (int i = 0; i < streams.size(); i++) {
            events.add(streams.get(i).events.awaitFrom(marks.get(i), what, which, RETURN));
        }
        return events;
    }

    @Test
    void aGroupStatusReachesEveryItemOfTheGroup() {
        List<Stream> streams = open(market.consumer(), "GROUP", 50);
        List<Integer> marks = marks(streams);
        market.source().groupStatus(
                new Value.State(StreamState.OPEN, DataState.SUSPECT, StatusCode.NONE, "group down"));
        for (Event event : awaitAll(streams, marks, "OPEN/SUSPECT", e -> e.says(StreamState.OPEN, DataState.SUSPECT))) {
            assertEquals("group down", event.state().text());
        }
        marks = marks(streams);
        market.source().groupStatus(new Value.State(StreamState.OPEN, DataState.OK, StatusCode.NONE, "group up"));
        awaitAll(streams, marks, "OPEN/OK", e -> e.says(StreamState.OPEN, DataState.OK));
    }

    @Test
    void aServiceThatGoesDownIsSeenInDirectoryAndItems() {
        Consumer consumer = market.consumer();
        Stream directory = consumer.directory(EmaRdm.SERVICE_INFO_FILTER | EmaRdm.SERVICE_STATE_FILTER);
        List<Stream> streams = open(consumer, "SERVICE", 50);
        List<Integer> marks = marks(streams);
        int before = directory.events.size();
        market.source().serviceState(
                false, new Value.State(StreamState.OPEN, DataState.SUSPECT, StatusCode.NONE, "feed down"));
        awaitAll(streams, marks, "OPEN/SUSPECT", e -> e.says(StreamState.OPEN, DataState.SUSPECT));
        directory.events.awaitFrom(before, "service state 0", e -> serviceState(e) == 0);
        marks = marks(streams);
        int down = directory.events.size();
        market.source().serviceState(
                true, new Value.State(StreamState.OPEN, DataState.OK, StatusCode.NONE, "feed up"));
        awaitAll(streams, marks, "OPEN/OK", e -> e.says(StreamState.OPEN, DataState.OK));
        directory.events.awaitFrom(down, "service state 1", e -> serviceState(e) == 1);
        marks = marks(streams);
        market.source().update("SERVICE0.N", 1, Samples.tick(1));
        assertEquals(Samples.tick(1), streams.get(0).updateFrom(marks.get(0)).payload());
    }

    /** The state that a directory message gives the only service, -1 if it gives none. */
    private static long serviceState(Event event) {
        if (event.payload() instanceof Value.Rows services
                && !services.rows().isEmpty()
                && services.rows().get(0).load() instanceof Value.Rows filters
                && filters.get(new Value.UInt(EmaRdm.SERVICE_STATE_ID)) instanceof Value.Elements state
                && state.get("ServiceState") instanceof Value.UInt up) {
            return up.value();
        }
        return -1;
    }

    @Test
    void aKilledSourceComesBackOnTheSameHandles() {
        Consumer consumer = market.consumer();
        List<Stream> streams = open(consumer, "KILL", 200);
        List<Integer> marks = marks(streams);
        Watch watch = Watch.start();
        market.killSource();
        awaitAll(streams, marks, "OPEN/SUSPECT", e -> e.says(StreamState.OPEN, DataState.SUSPECT));
        watch.print("source killed: all items stale at the consumer");
        Stream pending = consumer.open(Source.SERVICE, "WAITING.N");
        if (!Market.DIRECT) {
            pending.stale(0);
        }
        marks = marks(streams);
        market.startSource();
        Watch back = Watch.start();
        List<Event> images =
                awaitAll(streams, marks, "an image OPEN/OK", e -> e.isImage() && e.says(StreamState.OPEN, DataState.OK));
        back.print("source back: all items live at the consumer");
        for (Event image : images) {
            assertEquals(Samples.quote(image.name()), image.payload());
        }
        assertEquals(Samples.quote("WAITING.N"), pending.fresh(0).payload());
        marks = marks(streams);
        for (int i = 0; i < streams.size(); i++) {
            market.source().update("KILL" + i + ".N", i, Samples.tick(i));
        }
        for (int i = 0; i < streams.size(); i++) {
            assertEquals(Samples.tick(i), streams.get(i).updateFrom(marks.get(i)).payload());
            assertTrue(
                    streams.get(i).events.all(e -> e.state() != null && e.state().stream() != StreamState.OPEN).isEmpty(),
                    "the stream was not open all the time");
        }
    }

    @Test
    void anItemThatTheSourceGivesUpForNowIsRecovered() {
        Stream stream = market.consumer().open(Source.SERVICE, "GIVEUP.N");
        stream.image();
        int mark = stream.events.size();
        Watch watch = Watch.start();
        market.source().status(
                "GIVEUP.N", StreamState.CLOSED_RECOVER, DataState.SUSPECT, StatusCode.NO_RESOURCES, "no room");
        stream.stale(mark);
        Event image = stream.events.awaitFrom(
                mark, "an image", e -> e.isImage() && e.says(StreamState.OPEN, DataState.OK), RETURN);
        watch.print("item closed for recovery by the source: live again");
        assertEquals(Samples.quote("GIVEUP.N"), image.payload());
        int live = stream.events.size();
        market.source().update("GIVEUP.N", 1, Samples.tick(1));
        assertEquals(Samples.tick(1), stream.updateFrom(live).payload());
    }
}
