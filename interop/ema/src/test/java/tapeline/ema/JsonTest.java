package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.refinitiv.ema.access.DataType.DataTypes;
import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.access.OmmState.DataState;
import com.refinitiv.ema.access.OmmState.StatusCode;
import com.refinitiv.ema.access.OmmState.StreamState;
import com.refinitiv.ema.access.ReqMsg;
import com.refinitiv.ema.rdm.EmaRdm;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * An EMA consumer that speaks JSON (tr_json2): EMA turns each message into RWF before the application sees it.
 *
 * <p>The dictionary comes over the same connection, as one JSON message.
 */
@DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
class JsonTest {
    @RegisterExtension
    static final Market market = new Market();

    @RegisterExtension
    final Logs logs = new Logs();

    private static void assertArrives(Value published, Value got) {
        assertEquals(Trimmed.of(published), Trimmed.of(got));
    }

    @Test
    void loginDirectoryAndDictionaryAreThoseOfTheOtherPort() {
        Consumer consumer = market.jsonConsumer();
        Event login = consumer.login().image();
        assertTrue(login.says(StreamState.OPEN, DataState.OK), login.toString());
        assertEquals(Consumer.USER, login.name());
        Event directory = consumer.directory(EmaRdm.SERVICE_INFO_FILTER | EmaRdm.SERVICE_STATE_FILTER).image();
        assertTrue(directory.payload().toString().contains(Source.SERVICE), directory.toString());
        SessionTest.assertSame(Dictionary.load(), SessionTest.whole(consumer), JsonTest::asDownloaded);
    }

    @Test
    void anImageHasTheFieldsThatWerePublished() {
        Event image = market.jsonConsumer().open(Source.SERVICE, "JSON.N").image();
        assertTrue(image.says(StreamState.OPEN, DataState.OK), image.toString());
        assertEquals("JSON.N", image.name());
        assertEquals(Source.SERVICE, image.service());
        assertTrue(image.solicited());
        assertArrives(Samples.quote("JSON.N"), image.payload());
    }

    @Test
    void everyFieldTypeArrives() {
        Event image = market.jsonConsumer().open(Source.SERVICE, "EVERY.JSON").image();
        assertEquals(Samples.everyType().fields().size(), image.fields().fields().size());
        for (Value.Field field : Samples.everyType().fields()) {
            assertArrives(field.value(), image.fields().get(field.id()));
        }
    }

    /**
     * The arrows of the tick fields are one byte in RMTES. EMA's converter puts the UTF-8 of the JSON text into the
     * display without saying that it is UTF-8, whoever the server is.
     */
    private static String asDownloaded(String display) {
        String arrows = display.replace('\u00de', '\u21e7').replace('\u00fe', '\u21e9');
        return new String(arrows.getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1);
    }

    @Test
    void updatesArriveAllAndInOrder() {
        int count = 5_000;
        Stream stream = market.jsonConsumer().open(Source.SERVICE, "ORDER.JSON");
        stream.image();
        for (long n = 1; n <= count; n++) {
            market.source().update("ORDER.JSON", n, Samples.tick(n));
        }
        List<Event> updates =
                stream.events.awaitFrom(0, count, "updates", Event::isUpdate, Duration.ofSeconds(30));
        assertEquals(
                LongStream.rangeClosed(1, count).boxed().toList(), updates.stream().map(Event::seq).toList());
        for (Event update : updates) {
            assertArrives(Samples.tick(update.seq()), update.payload());
        }
    }

    @Test
    void aBookArrivesWholeAndChanges() {
        ReqMsg request = EmaFactory.createReqMsg().domainType(EmaRdm.MMT_MARKET_BY_ORDER)
                .serviceName(Source.SERVICE).name("BOOK.JSON");
        Stream book = market.jsonConsumer().open(request, "BOOK.JSON");
        assertArrives(Samples.book(Source.BOOK_ORDERS), book.image().payload());
        market.source().update("BOOK.JSON", 1, Samples.bookChange(1, 2, Source.BOOK_ORDERS + 1));
        assertArrives(Samples.bookChange(1, 2, Source.BOOK_ORDERS + 1), book.updateFrom(0).payload());
    }

    @Test
    void aSnapshotIsOneImage() {
        Stream snapshot = market.jsonConsumer().open(
                Consumer.request(Source.SERVICE, "SNAP.JSON").interestAfterRefresh(false), "SNAP.JSON");
        Event image = snapshot.image();
        assertTrue(image.says(StreamState.NON_STREAMING, DataState.OK), image.toString());
        assertArrives(Samples.quote("SNAP.JSON"), image.payload());
    }

    @Test
    void aBatchOpensEveryItemOfIt() {
        List<String> names = IntStream.range(0, 200).mapToObj(i -> "JBATCH" + i + ".N").toList();
        ReqMsg request = EmaFactory.createReqMsg().domainType(EmaRdm.MMT_MARKET_PRICE)
                .serviceName(Source.SERVICE).payload(Consumer.batch(names));
        Stream stream = market.jsonConsumer().open(request, "batch of 200");
        List<Event> images = stream.events.await(names.size(), "images", Event::isImage);
        for (Event image : images) {
            assertArrives(Samples.quote(image.name()), image.payload());
        }
        assertEquals(Set.copyOf(names), Set.copyOf(images.stream().map(Event::name).toList()));
    }

    @Test
    void aViewLeavesOnlyItsFields() {
        ReqMsg request =
                Consumer.request(Source.SERVICE, "VIEW.JSON").payload(Consumer.view(Samples.BID, Samples.CURRENCY));
        Stream stream = market.jsonConsumer().open(request, "VIEW.JSON");
        assertArrives(
                Samples.only(Samples.quote("VIEW.JSON"), Samples.BID, Samples.CURRENCY), stream.image().payload());
        market.source().update("VIEW.JSON", 1, Samples.tick(1));
        assertArrives(Samples.only(Samples.tick(1), Samples.BID), stream.updateFrom(0).payload());
    }

    @Test
    void anItemThatIsNotThereIsClosedByTheSource() {
        Consumer consumer = market.jsonConsumer();
        Event status = consumer.open(Source.SERVICE, "MISSING.JSON").closed();
        assertEquals(
                new Value.State(StreamState.CLOSED, DataState.SUSPECT, StatusCode.NOT_FOUND, Source.NOT_FOUND),
                status.state());
        // The connection is not hurt.
        assertArrives(Samples.quote("HERE.JSON"), consumer.open(Source.SERVICE, "HERE.JSON").image().payload());
    }

    @Test
    void aPostReachesTheSourceAndIsAcknowledged() {
        Consumer consumer = market.jsonConsumer();
        Stream stream = consumer.open(Source.SERVICE, "POST.JSON");
        stream.image();
        consumer.ema.submit(
                EmaFactory.createPostMsg().domainType(EmaRdm.MMT_MARKET_PRICE).postId(51).seqNum(501)
                        .solicitAck(true).complete(true)
                        .payload(EmaFactory.createUpdateMsg().payload(Encode.fieldList(Samples.tick(9)))),
                stream.handle);
        Source.Post post = market.source().posts.await("the post", p -> p.seq() != null && p.seq() == 501);
        assertEquals(new Value.Message(DataTypes.UPDATE_MSG, Samples.tick(9)), post.payload());
        Event ack = stream.events.await("an ack", e -> e.is(Event.Kind.ACK));
        assertEquals(new Event.Ack(51, null, null), ack.ack());
        assertArrives(Samples.tick(9), stream.events.await("an update", Event::isUpdate).payload());
    }

    @Test
    void aServerThatComesBackHasItsConsumersAgain() {
        int source = Ports.free();
        int server = Ports.free();
        String[] arguments = {
            "run", "--source", "127.0.0.1:" + source, "--ni-port", "0", "--rssl-port", "0", "--ws-port",
            String.valueOf(server), "--backbone", "aeron:ipc"
        };
        Tapeline first = null;
        try (Source feed = new Source(source)) {
            first = logs.of(Tapeline.serving(arguments));
            try (Consumer consumer = Consumer.overJson(server)) {
                Watchlist items = Watchlist.open(consumer, "JSAME", 50);
                first.kill();
                items.awaitStale();
                try (Tapeline second = logs.of(Tapeline.serving(arguments))) {
                    items.awaitImages(Trimmed::of);
                    feed.update("JSAME0.N", 4, Samples.tick(4));
                    assertArrives(Samples.tick(4), items.awaitUpdate(0).payload());
                    assertEquals(server, second.webSocketPort());
                }
            }
        } finally {
            if (first != null) {
                first.close();
            }
        }
    }
}
