package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.access.OmmState.DataState;
import com.refinitiv.ema.access.OmmState.StatusCode;
import com.refinitiv.ema.access.OmmState.StreamState;
import com.refinitiv.ema.access.ReqMsg;
import com.refinitiv.ema.rdm.EmaRdm;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Items of an EMA provider at an EMA consumer: what was published is what arrives. */
class ItemsTest {
    @RegisterExtension
    static final Market market = new Market();

    @Test
    void anImageHasTheFieldsThatWerePublished() {
        Event image = market.consumer().open(Source.SERVICE, "IMAGE.N").image();
        assertTrue(image.says(StreamState.OPEN, DataState.OK), image.toString());
        assertEquals("IMAGE.N", image.name());
        assertEquals(Source.SERVICE, image.service());
        assertEquals(EmaRdm.MMT_MARKET_PRICE, image.domain());
        assertTrue(image.solicited());
        assertEquals(Samples.quote("IMAGE.N"), image.payload());
    }

    @Test
    void everyFieldTypeArrivesUnchanged() {
        Event image = market.consumer().open(Source.SERVICE, "EVERY.TYPE").image();
        assertEquals(Samples.everyType().fields().size(), image.fields().fields().size());
        for (Value.Field field : Samples.everyType().fields()) {
            assertEquals(field.value(), image.fields().get(field.id()), () -> "field " + field.id());
        }
    }

    @Test
    void updatesArriveAllAndInOrder() {
        int count = 20_000;
        int step = 1_000;
        Stream stream = market.consumer().open(Source.SERVICE, "ORDER.N");
        stream.image();
        Watch watch = Watch.start();
        List<Event> updates = List.of();
        for (int n = 1; n <= count; n++) {
            market.source().update("ORDER.N", n, Samples.tick(n));
            if (n % step == 0) {
                updates = stream.events.awaitFrom(0, n, "updates", Event::isUpdate, Duration.ofSeconds(30));
            }
        }
        watch.print(count + " updates of one item");
        List<Long> numbers = updates.stream().map(Event::seq).toList();
        assertEquals(LongStream.rangeClosed(1, count).boxed().toList(), numbers);
        for (Event update : updates) {
            assertEquals(1, update.updateType());
            assertEquals(Samples.tick(update.seq()), update.payload());
        }
    }

    @Test
    void aBookLargerThanManyFragmentsArrivesWholeAndChanges() {
        ReqMsg request = EmaFactory.createReqMsg().domainType(EmaRdm.MMT_MARKET_BY_ORDER)
                .serviceName(Source.SERVICE).name("BOOK.N");
        Stream stream = market.consumer().open(request, "BOOK.N");
        Event image = stream.image();
        assertEquals(EmaRdm.MMT_MARKET_BY_ORDER, image.domain());
        assertEquals(Samples.book(Source.BOOK_ORDERS), image.payload());
        Value.Rows change = Samples.bookChange(3, 4, Source.BOOK_ORDERS);
        market.source().update("BOOK.N", 1, change);
        Event update = stream.events.await("an update", Event::isUpdate);
        assertEquals(change, update.payload());
    }

    @Test
    void aSnapshotIsOneImageAndThenNothing() {
        Consumer consumer = market.consumer();
        Stream live = consumer.open(Source.SERVICE, "SNAP.N");
        live.image();
        Stream snapshot = consumer.open(
                Consumer.request(Source.SERVICE, "SNAP.N").interestAfterRefresh(false), "snapshot of SNAP.N");
        Event image = snapshot.image();
        assertEquals(StreamState.NON_STREAMING, image.state().stream());
        assertEquals(DataState.OK, image.state().data());
        assertEquals(Samples.quote("SNAP.N"), image.payload());
        market.source().update("SNAP.N", 1, Samples.tick(1));
        live.updateFrom(0);
        assertEquals(1, snapshot.events.size(), snapshot.events.all().toString());
    }

    @Test
    void aSnapshotOfAnItemNobodyElseHasOpen() {
        Stream snapshot = market.consumer().open(
                Consumer.request(Source.SERVICE, "SNAP.ALONE").interestAfterRefresh(false), "SNAP.ALONE");
        Event image = snapshot.image();
        assertTrue(image.says(StreamState.NON_STREAMING, DataState.OK), image.toString());
        assertEquals(Samples.quote("SNAP.ALONE"), image.payload());
    }

    @Test
    void aBatchOpensEveryItemOfIt() {
        List<String> names = IntStream.range(0, 500).mapToObj(i -> "BATCH" + i + ".N").toList();
        ReqMsg request = EmaFactory.createReqMsg().domainType(EmaRdm.MMT_MARKET_PRICE)
                .serviceName(Source.SERVICE).payload(Consumer.batch(names));
        Stream stream = market.consumer().open(request, "batch of 500");
        List<Event> images = stream.events.await(names.size(), "images", Event::isImage);
        for (Event image : images) {
            assertTrue(image.says(StreamState.OPEN, DataState.OK), image.toString());
            assertEquals(Samples.quote(image.name()), image.payload());
        }
        assertEquals(names, images.stream().map(Event::name).sorted(ItemsTest::byNumber).toList());
    }

    private static int byNumber(String a, String b) {
        return a.length() == b.length() ? a.compareTo(b) : a.length() - b.length();
    }

    @Test
    void aViewLeavesOnlyItsFields() {
        ReqMsg request = Consumer.request(Source.SERVICE, "VIEW.N").payload(Consumer.view(Samples.BID, Samples.CURRENCY));
        Stream stream = market.consumer().open(request, "VIEW.N");
        assertEquals(
                Samples.only(Samples.quote("VIEW.N"), Samples.BID, Samples.CURRENCY), stream.image().payload());
        market.source().update("VIEW.N", 1, Samples.tick(1));
        assertEquals(Samples.only(Samples.tick(1), Samples.BID), stream.updateFrom(0).payload());
    }

    @Test
    void aViewOfOneConsumerDoesNotNarrowAnother() {
        Stream narrow = market.consumer().open(
                Consumer.request(Source.SERVICE, "VIEW2.N").payload(Consumer.view(Samples.ASK)), "VIEW2.N, ASK");
        assertEquals(Samples.only(Samples.quote("VIEW2.N"), Samples.ASK), narrow.image().payload());
        Stream whole = market.consumer().open(Source.SERVICE, "VIEW2.N");
        assertEquals(Samples.quote("VIEW2.N"), whole.image().payload());
        market.source().update("VIEW2.N", 1, Samples.tick(1));
        assertEquals(Samples.only(Samples.tick(1), Samples.ASK), narrow.updateFrom(0).payload());
        assertEquals(Samples.tick(1), whole.updateFrom(0).payload());
    }

    @Test
    void aReissueChangesTheView() {
        Consumer consumer = market.consumer();
        Stream stream = consumer.open(
                Consumer.request(Source.SERVICE, "REVIEW.N").payload(Consumer.view(Samples.BID)), "REVIEW.N");
        stream.image();
        int mark = stream.events.size();
        consumer.ema.reissue(
                Consumer.request(Source.SERVICE, "REVIEW.N").payload(Consumer.view(Samples.ASK, Samples.RDNDISPLAY)),
                stream.handle);
        Event image = stream.imageFrom(mark);
        assertEquals(
                Samples.only(Samples.quote("REVIEW.N"), Samples.ASK, Samples.RDNDISPLAY), image.payload());
        market.source().update("REVIEW.N", 1, Samples.tick(1));
        assertEquals(Samples.only(Samples.tick(1), Samples.ASK), stream.updateFrom(mark).payload());
    }

    @Test
    void aPausedItemIsSilentAndResumesWithAnImage() {
        Consumer consumer = market.consumer();
        Stream paused = consumer.open(Source.SERVICE, "PAUSE.N");
        Stream other = consumer.open(Source.SERVICE, "BESIDE.N");
        paused.image();
        other.image();
        consumer.ema.reissue(Consumer.request(Source.SERVICE, "PAUSE.N").pause(true), paused.handle);
        // A reissue of the other item that is answered: the pause before it has arrived, too.
        int mark = other.events.size();
        consumer.ema.reissue(Consumer.request(Source.SERVICE, "BESIDE.N"), other.handle);
        other.imageFrom(mark);
        int before = paused.events.size();
        market.source().update("PAUSE.N", 1, Samples.tick(1));
        market.source().update("BESIDE.N", 1, Samples.tick(1));
        other.updateFrom(mark);
        assertEquals(before, paused.events.size(), paused.events.all().toString());
        consumer.ema.reissue(Consumer.request(Source.SERVICE, "PAUSE.N"), paused.handle);
        paused.imageFrom(before);
        int resumed = paused.events.size();
        market.source().update("PAUSE.N", 2, Samples.tick(2));
        assertEquals(Samples.tick(2), paused.updateFrom(resumed).payload());
    }

    @Test
    void aReissueForAnImageIsAnsweredWithOne() {
        Consumer consumer = market.consumer();
        Stream stream = consumer.open(Source.SERVICE, "AGAIN.N");
        stream.image();
        int mark = stream.events.size();
        consumer.ema.reissue(Consumer.request(Source.SERVICE, "AGAIN.N"), stream.handle);
        Event image = stream.imageFrom(mark);
        assertTrue(image.solicited(), image.toString());
        assertEquals(Samples.quote("AGAIN.N"), image.payload());
    }

    @Test
    void anItemThatIsNotThereIsClosedByTheSource() {
        Event status = market.consumer().open(Source.SERVICE, "MISSING.N").closed();
        assertEquals(
                new Value.State(StreamState.CLOSED, DataState.SUSPECT, StatusCode.NOT_FOUND, Source.NOT_FOUND),
                status.state());
        assertEquals("MISSING.N", status.name());
    }

    @Test
    void aRefreshNobodyAskedForReachesAll() {
        Stream first = market.consumer().open(Source.SERVICE, "CORRECTED.N");
        Stream second = market.consumer().open(Source.SERVICE, "CORRECTED.N");
        first.image();
        second.image();
        int[] marks = {first.events.size(), second.events.size()};
        market.source().refresh("CORRECTED.N", Samples.tick(77));
        assertEquals(Samples.tick(77), first.imageFrom(marks[0]).payload());
        Event image = second.imageFrom(marks[1]);
        assertEquals(Samples.tick(77), image.payload());
        assertEquals("corrected", image.state().text());
    }

    @Test
    void theSourceEndsAnItem() {
        Stream stream = market.consumer().open(Source.SERVICE, "ENDED.N");
        stream.image();
        market.source().status("ENDED.N", StreamState.CLOSED, DataState.SUSPECT, StatusCode.NOT_FOUND, "delisted");
        assertEquals("delisted", stream.closed().state().text());
    }

    @Test
    void aStatusOfTheSourceReachesTheConsumer() {
        Stream stream = market.consumer().open(Source.SERVICE, "STALE.N");
        stream.image();
        market.source().status("STALE.N", StreamState.OPEN, DataState.SUSPECT, StatusCode.NO_RESOURCES, "line down");
        Event stale = stream.stale(0);
        assertEquals(
                new Value.State(StreamState.OPEN, DataState.SUSPECT, StatusCode.NO_RESOURCES, "line down"),
                stale.state());
        int mark = stream.events.size();
        market.source().status("STALE.N", StreamState.OPEN, DataState.OK, StatusCode.NONE, "line up");
        stream.events.awaitFrom(mark, "OPEN/OK", e -> e.says(StreamState.OPEN, DataState.OK));
    }

    @Test
    void anItemIsClosedWhenItsLastReaderLeaves() {
        Consumer first = market.consumer();
        Consumer second = market.consumer();
        Stream one = first.open(Source.SERVICE, "LAST.N");
        Stream two = second.open(Source.SERVICE, "LAST.N");
        one.image();
        two.image();
        first.ema.unregister(one.handle);
        market.source().update("LAST.N", 1, Samples.tick(1));
        two.updateFrom(0);
        second.ema.unregister(two.handle);
        market.source().closes.await("the close of LAST.N", "LAST.N"::equals);
    }

    @Test
    @DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
    void manyConsumersOfAnItemAreOneStreamAtTheSource() {
        List<Stream> streams = IntStream.range(0, 4)
                .mapToObj(i -> market.consumer().open(Source.SERVICE, "SHARED.N"))
                .toList();
        streams.forEach(stream -> assertEquals(Samples.quote("SHARED.N"), stream.image().payload()));
        assertEquals(1, market.source().openStreams("SHARED.N"));
        market.source().update("SHARED.N", 5, Samples.tick(5));
        for (Stream stream : streams) {
            Event update = stream.updateFrom(0);
            assertEquals(5, update.seq());
            assertEquals(Samples.tick(5), update.payload());
        }
    }

    @Test
    @DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
    void whoJoinsLaterGetsAnImageWithTheUpdatesInIt() {
        Stream first = market.consumer().open(Source.SERVICE, "JOIN.N");
        first.image();
        market.source().update("JOIN.N", 1, Samples.tick(41));
        first.updateFrom(0);
        Stream later = market.consumer().open(Source.SERVICE, "JOIN.N");
        Event image = later.image();
        assertEquals(later.events.all().get(0), image, "something came before the image");
        assertEquals(Samples.tick(41).get(Samples.BID), image.fields().get(Samples.BID));
        assertEquals(Samples.quote("JOIN.N").get(Samples.CURRENCY), image.fields().get(Samples.CURRENCY));
        assertEquals(2, first.events.size(), "the first reader was disturbed: " + first.events.all());
    }

    @Test
    @DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
    void privateStreamsAreNotShared() {
        ReqMsg request = Consumer.request(Source.SERVICE, "PRIVATE.N").privateStream(true);
        Stream first = market.consumer().open(request, "PRIVATE.N, first");
        Stream second = market.consumer().open(request, "PRIVATE.N, second");
        assertEquals(Samples.quote("PRIVATE.N"), first.image().payload());
        assertEquals(Samples.quote("PRIVATE.N"), second.image().payload());
        assertEquals(2, market.source().openStreams("PRIVATE.N"));
        market.source().update("PRIVATE.N", 1, Samples.tick(1));
        assertEquals(Samples.tick(1), first.updateFrom(0).payload());
        assertEquals(Samples.tick(1), second.updateFrom(0).payload());
        assertEquals(1, first.events.all(Event::isUpdate).size());
    }

    @Test
    void aPausedLoginPausesEverything() {
        Consumer consumer = market.consumer();
        Stream login = consumer.login();
        Stream stream = consumer.open(Source.SERVICE, "PAUSEALL.N");
        Stream witness = market.consumer().open(Source.SERVICE, "PAUSEALL.N");
        login.image();
        stream.image();
        witness.image();
        int mark = login.events.size();
        consumer.ema.reissue(loginAgain().pause(true), login.handle);
        login.imageFrom(mark);
        int before = stream.events.size();
        market.source().update("PAUSEALL.N", 1, Samples.tick(1));
        witness.updateFrom(0);
        if (!Market.DIRECT) {
            // An answer on the same connection: what went before it has arrived.
            consumer.open(Consumer.request(Source.SERVICE, "BEHIND.N").interestAfterRefresh(false), "BEHIND.N").image();
            assertEquals(before, stream.events.size(), stream.events.all().toString());
        }
        mark = login.events.size();
        consumer.ema.reissue(loginAgain(), login.handle);
        login.imageFrom(mark);
        market.source().update("PAUSEALL.N", 2, Samples.tick(2));
        stream.events.awaitFrom(before, "the second update", e -> e.isUpdate() && Samples.tick(2).equals(e.payload()));
        if (!Market.DIRECT) {
            Event image = stream.imageFrom(before);
            assertEquals(Samples.tick(1).get(Samples.BID), image.fields().get(Samples.BID));
        }
    }

    /** Anew each time: the SDK does not take a pause back. */
    private static ReqMsg loginAgain() {
        return EmaFactory.createReqMsg().domainType(EmaRdm.MMT_LOGIN).name(Consumer.USER);
    }

    @Test
    void aListOfSymbolsIsAMapOfNames() {
        ReqMsg request = EmaFactory.createReqMsg().domainType(EmaRdm.MMT_SYMBOL_LIST)
                .serviceName(Source.SERVICE).name("_ITEMS");
        Stream stream = market.consumer().open(request, "_ITEMS");
        assertEquals(Samples.symbols(200), stream.image().payload());
    }
}
