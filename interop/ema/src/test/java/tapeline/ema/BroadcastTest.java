package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.access.OmmState.DataState;
import com.refinitiv.ema.access.OmmState.StatusCode;
import com.refinitiv.ema.access.OmmState.StreamState;
import com.refinitiv.ema.rdm.EmaRdm;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** An EMA non-interactive provider publishes into the hub, EMA consumers read at the server. */
@DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
class BroadcastTest {
    @RegisterExtension
    final Logs logs = new Logs();

    private Tapeline tapeline;
    private Broadcaster broadcaster;
    private Consumer consumer;

    @BeforeEach
    void start() {
        tapeline = logs.of(Tapeline.run());
    }

    @AfterEach
    void stop() {
        if (consumer != null) {
            consumer.close();
        }
        if (broadcaster != null) {
            broadcaster.close();
        }
        tapeline.close();
    }

    private void connect(Settings.Compression compression) {
        broadcaster = new Broadcaster(tapeline.providerPort(), compression);
        broadcaster.publish("FIRST.B", Samples.quote("FIRST.B"));
        consumer = new Consumer(compression, tapeline.consumerPort());
    }

    @ParameterizedTest
    @EnumSource(Settings.Compression.class)
    void itemsArriveAsTheyWerePublished(Settings.Compression compression) {
        connect(compression);
        broadcaster.publish("EVERY.B", Samples.everyType());
        broadcaster.publish("BOOK.B", EmaRdm.MMT_MARKET_BY_ORDER, Samples.book(1_000));
        Event quote = open("FIRST.B").image();
        assertTrue(quote.says(StreamState.OPEN, DataState.OK), quote.toString());
        assertEquals("FIRST.B", quote.name());
        assertEquals(Broadcaster.SERVICE, quote.service());
        assertEquals(Samples.quote("FIRST.B"), quote.payload());
        assertEquals(Samples.everyType(), open("EVERY.B").image().payload());
        Stream book = consumer.open(
                EmaFactory.createReqMsg().domainType(EmaRdm.MMT_MARKET_BY_ORDER).serviceName(Broadcaster.SERVICE)
                        .name("BOOK.B"),
                "BOOK.B");
        assertEquals(Samples.book(1_000), book.image().payload());
    }

    /** The publication may still be on its way when the consumer asks: the request waits for it or is asked again. */
    private Stream open(String name) {
        return consumer.open(Broadcaster.SERVICE, name);
    }

    @Test
    void updatesArriveAllAndInOrder() {
        connect(Settings.Compression.NONE);
        Stream stream = open("FIRST.B");
        stream.image();
        int count = 5_000;
        for (long n = 1; n <= count; n++) {
            broadcaster.update("FIRST.B", EmaRdm.MMT_MARKET_PRICE, n, Samples.tick(n));
        }
        List<Event> updates = stream.events.await(count, "updates", Event::isUpdate);
        assertEquals(
                LongStream.rangeClosed(1, count).boxed().toList(), updates.stream().map(Event::seq).toList());
        updates.forEach(update -> assertEquals(Samples.tick(update.seq()), update.payload()));
    }

    @Test
    void aLateReaderGetsWhatTheItemIsWorthNow() {
        connect(Settings.Compression.NONE);
        Stream first = open("FIRST.B");
        first.image();
        broadcaster.update("FIRST.B", EmaRdm.MMT_MARKET_PRICE, 1, Samples.tick(11));
        first.updateFrom(0);
        try (Consumer second = new Consumer(Settings.Compression.NONE, tapeline.consumerPort())) {
            Event image = second.open(Broadcaster.SERVICE, "FIRST.B").image();
            assertEquals(Samples.tick(11).get(Samples.BID), image.fields().get(Samples.BID));
            assertEquals(
                    Samples.quote("FIRST.B").get(Samples.TRDTIM_1), image.fields().get(Samples.TRDTIM_1));
        }
    }

    @Test
    void anItemThatIsClosedByItsPublisherIsClosed() {
        connect(Settings.Compression.NONE);
        Stream stream = open("FIRST.B");
        stream.image();
        broadcaster.status("FIRST.B", StreamState.CLOSED, DataState.SUSPECT, StatusCode.NOT_FOUND, "gone");
        assertEquals("gone", stream.closed().state().text());
    }

    @Test
    void anItemNobodyPublishedIsNotGood() {
        connect(Settings.Compression.NONE);
        Event status = open("NEVER.B").events.await("a status", e -> e.is(Event.Kind.STATUS));
        assertEquals(DataState.SUSPECT, status.state().data(), status.toString());
    }

    @Test
    void aLostPublisherComesBackOnTheSameHandles() {
        connect(Settings.Compression.NONE);
        List<Stream> streams = IntStream.range(0, 100)
                .mapToObj(i -> {
                    broadcaster.publish("BACK" + i + ".B", Samples.quote("BACK" + i + ".B"));
                    return open("BACK" + i + ".B");
                })
                .toList();
        streams.forEach(stream -> stream.fresh(0));
        List<Integer> marks = streams.stream().map(stream -> stream.events.size()).toList();
        Watch watch = Watch.start();
        broadcaster.close();
        for (int i = 0; i < streams.size(); i++) {
            streams.get(i).stale(marks.get(i));
        }
        watch.print("non-interactive provider killed: all items stale at the consumer");
        Watch back = Watch.start();
        broadcaster = new Broadcaster(tapeline.providerPort(), Settings.Compression.NONE);
        for (int i = 0; i < streams.size(); i++) {
            broadcaster.publish("BACK" + i + ".B", Samples.tick(i));
        }
        for (int i = 0; i < streams.size(); i++) {
            Event image = streams.get(i).events.awaitFrom(
                    marks.get(i), "an image OPEN/OK", e -> e.isImage() && e.says(StreamState.OPEN, DataState.OK),
                    Duration.ofSeconds(20));
            assertEquals(Samples.tick(i), image.payload());
        }
        back.print("non-interactive provider back: all items live at the consumer");
    }
}
