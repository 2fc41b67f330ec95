package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.access.OmmState.DataState;
import com.refinitiv.ema.access.OmmState.StatusCode;
import com.refinitiv.ema.access.OmmState.StreamState;
import com.refinitiv.ema.rdm.EmaRdm;
import com.refinitiv.eta.codec.MsgClasses;
import com.refinitiv.eta.transport.CompressionTypes;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Trouble at the source: streams go stale and come back on the same handles. */
class RecoveryTest {
    private static final Duration RETURN = Duration.ofSeconds(30);

    @RegisterExtension
    final Market market = new Market();

    @Test
    void aGroupStatusReachesEveryItemOfTheGroup() {
        Watchlist items = Watchlist.open(market.consumer(), "GROUP", 50);
        market.source().groupStatus(
                new Value.State(StreamState.OPEN, DataState.SUSPECT, StatusCode.NONE, "group down"));
        items.awaitStale().forEach(event -> assertEquals("group down", event.state().text()));
        items.mark();
        market.source().groupStatus(new Value.State(StreamState.OPEN, DataState.OK, StatusCode.NONE, "group up"));
        items.await("OPEN/OK", e -> e.says(StreamState.OPEN, DataState.OK));
    }

    @Test
    void aServiceThatGoesDownIsSeenInDirectoryAndItems() {
        Consumer consumer = market.consumer();
        Stream directory = consumer.directory(EmaRdm.SERVICE_INFO_FILTER | EmaRdm.SERVICE_STATE_FILTER);
        Watchlist items = Watchlist.open(consumer, "SERVICE", 50);
        int before = directory.events.size();
        market.source().serviceState(
                false, new Value.State(StreamState.OPEN, DataState.SUSPECT, StatusCode.NONE, "feed down"));
        items.awaitStale();
        directory.events.awaitFrom(before, "service state 0", e -> serviceState(e) == 0);
        items.mark();
        int down = directory.events.size();
        market.source().serviceState(
                true, new Value.State(StreamState.OPEN, DataState.OK, StatusCode.NONE, "feed up"));
        items.await("OPEN/OK", e -> e.says(StreamState.OPEN, DataState.OK));
        directory.events.awaitFrom(down, "service state 1", e -> serviceState(e) == 1);
        market.source().update("SERVICE0.N", 1, Samples.tick(1));
        assertEquals(Samples.tick(1), items.awaitUpdate(0).payload());
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
        int count = 200;
        Consumer consumer = market.consumer();
        Watchlist items = Watchlist.open(consumer, "KILL", count);
        Watch watch = Watch.start();
        market.killSource();
        items.awaitStale();
        watch.print("source killed: all items stale at the consumer");
        Stream pending = consumer.open(Source.SERVICE, "WAITING.N");
        if (!Market.DIRECT) {
            pending.stale(0);
        }
        items.mark();
        market.startSource();
        Watch back = Watch.start();
        items.awaitImages();
        back.print("source back: all items live at the consumer");
        assertEquals(Samples.quote("WAITING.N"), pending.fresh(0).payload());
        items.mark();
        for (int i = 0; i < count; i++) {
            market.source().update(Watchlist.name("KILL", i), i, Samples.tick(i));
        }
        for (int i = 0; i < count; i++) {
            assertEquals(Samples.tick(i), items.awaitUpdate(i).payload());
        }
        items.assertAlwaysOpen();
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

    @Test
    @DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
    void aClientThatRecoversByItselfIsToldTo() {
        market.consumer();
        try (EtaConsumer consumer = new EtaConsumer(market.port(), CompressionTypes.NONE)) {
            consumer.login(0, 0);
            consumer.open(10, EmaRdm.MMT_MARKET_PRICE, consumer.service(Source.SERVICE), "STRICT.N");
            consumer.await("an image", each -> each.stream() == 10 && each.isRefresh());
            market.killSource();
            EtaConsumer.Received status =
                    consumer.await("a status", each -> each.stream() == 10 && each.msgClass() == MsgClasses.STATUS);
            assertEquals(StreamState.CLOSED_RECOVER, status.state().stream());
            assertEquals(DataState.SUSPECT, status.state().data());
        }
    }

    @Test
    @DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
    void aPostToALostSourceIsRefused() {
        Consumer consumer = market.consumer();
        Stream stream = consumer.open(Source.SERVICE, "NOBODY.N");
        stream.image();
        market.killSource();
        stream.stale(0);
        consumer.ema.submit(
                EmaFactory.createPostMsg().domainType(EmaRdm.MMT_MARKET_PRICE).postId(5).solicitAck(true).complete(true)
                        .payload(Encode.fieldList(Samples.tick(1))),
                stream.handle);
        Event ack = stream.events.await("an ack", e -> e.is(Event.Kind.ACK));
        assertEquals(5, ack.ack().id());
        int sourceDown = 3;
        assertEquals(sourceDown, ack.ack().nak(), ack.toString());
    }
}
