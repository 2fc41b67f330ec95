package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.refinitiv.ema.rdm.EmaRdm;
import com.refinitiv.eta.codec.DataStates;
import com.refinitiv.eta.codec.MsgClasses;
import com.refinitiv.eta.codec.StreamStates;
import com.refinitiv.eta.transport.CompressionTypes;
import com.refinitiv.eta.valueadd.domainrep.rdm.login.LoginRefresh;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What EMA's watchlist never puts on the wire, from ETA: batches and views as the client wrote them, large requests. */
class EtaTest {
    private static final int FIRST = 10;

    @RegisterExtension
    static final Market market = new Market();

    /** With the source's service there already: an EMA consumer waits for it. */
    private static EtaConsumer connected(int compression) {
        market.consumer();
        EtaConsumer consumer = new EtaConsumer(market.port(), compression);
        consumer.login(1, 1);
        return consumer;
    }

    @Test
    void theLoginRefreshIsCompleteAndStrict() {
        try (EtaConsumer consumer = connected(CompressionTypes.NONE)) {
            LoginRefresh refresh = consumer.loginRefresh();
            assertEquals(EtaConsumer.LOGIN, refresh.streamId());
            assertEquals(Consumer.USER, refresh.userName().toString());
            assertEquals(StreamStates.OPEN, refresh.state().streamState());
            assertEquals(DataStates.OK, refresh.state().dataState());
            assertEquals(Market.DIRECT ? 0 : 1, refresh.features().supportBatchRequests() & 1);
            assertEquals(1, refresh.features().supportViewRequests());
            assertEquals(1, refresh.features().supportOptimizedPauseResume());
            assertEquals(1, refresh.features().supportOMMPost());
        }
    }

    @ParameterizedTest
    @DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
    @ValueSource(ints = {CompressionTypes.NONE, CompressionTypes.ZLIB, CompressionTypes.LZ4})
    void aBatchOnTheWireOpensItsItemsOnTheNextStreams(int compression) {
        try (EtaConsumer consumer = connected(compression)) {
            int service = consumer.service(Source.SERVICE);
            assertEquals(compression, consumer.info().compressionType());
            List<String> names = IntStream.range(0, 500).mapToObj(i -> "WIRE" + i + ".N").toList();
            consumer.send(16_384, iterator -> EtaConsumer.encodeBatch(iterator, FIRST, service, names));
            EtaConsumer.Received closed = consumer.await("the end of the batch", each -> each.stream() == FIRST);
            assertEquals(MsgClasses.STATUS, closed.msgClass());
            assertEquals(StreamStates.CLOSED, closed.state().stream());
            assertEquals(DataStates.OK, closed.state().data());
            List<EtaConsumer.Received> images = consumer.await(
                    names.size(), "images", each -> each.stream() > FIRST && each.isRefresh() && each.complete());
            for (EtaConsumer.Received image : images) {
                assertEquals(names.get(image.stream() - FIRST - 1), image.name());
                assertEquals(service, image.serviceId());
                assertEquals(StreamStates.OPEN, image.state().stream());
                assertEquals(ids(Samples.quote(image.name())), image.fields());
            }
        }
    }

    @Test
    @DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
    void aBatchWithAViewIsAViewForEach() {
        try (EtaConsumer consumer = connected(CompressionTypes.NONE)) {
            int service = consumer.service(Source.SERVICE);
            List<String> names = List.of("BATCHVIEW0.N", "BATCHVIEW1.N", "BATCHVIEW2.N");
            consumer.send(
                    2_048,
                    iterator -> EtaConsumer.encodeBatch(
                            iterator, FIRST, service, names, Samples.BID, Samples.CURRENCY));
            List<EtaConsumer.Received> images =
                    consumer.await(names.size(), "images", each -> each.stream() > FIRST && each.isRefresh());
            for (EtaConsumer.Received image : images) {
                assertEquals(List.of(Samples.CURRENCY, Samples.BID), image.fields());
            }
            market.source().update("BATCHVIEW1.N", 1, Samples.tick(1));
            EtaConsumer.Received update = consumer.await("an update", EtaConsumer.Received::isUpdate);
            assertEquals(FIRST + 2, update.stream());
            assertEquals(List.of(Samples.BID), update.fields());
        }
    }

    private static List<Integer> ids(Value.Fields fields) {
        return fields.fields().stream().map(Value.Field::id).toList();
    }

    @Test
    void aBookOfManyFragmentsIsOneMessage() {
        try (EtaConsumer consumer = connected(CompressionTypes.NONE)) {
            int service = consumer.service(Source.SERVICE);
            consumer.open(FIRST, EmaRdm.MMT_MARKET_BY_ORDER, service, "BOOK.ETA");
            EtaConsumer.Received image = consumer.await("the book", each -> each.stream() == FIRST);
            assertTrue(image.isRefresh(), image.toString());
            assertTrue(image.bytes().length > 10 * consumer.info().maxFragmentSize(), image.bytes().length + " bytes");
            assertEquals("BOOK.ETA", image.name());
        }
    }

    @Test
    void aClosedStreamIsSilentAndItsNumberFree() {
        try (EtaConsumer consumer = connected(CompressionTypes.NONE)) {
            int service = consumer.service(Source.SERVICE);
            consumer.open(FIRST, EmaRdm.MMT_MARKET_PRICE, service, "CLOSED.ETA");
            consumer.await("an image", each -> each.stream() == FIRST && each.isRefresh());
            consumer.closeStream(FIRST, EmaRdm.MMT_MARKET_PRICE);
            market.source().closes.await("the close", "CLOSED.ETA"::equals);
            consumer.open(FIRST, EmaRdm.MMT_MARKET_PRICE, service, "NEXT.ETA");
            EtaConsumer.Received image =
                    consumer.await("the next image", each -> "NEXT.ETA".equals(each.name()) && each.isRefresh());
            assertEquals(FIRST, image.stream());
            market.source().update("NEXT.ETA", 1, Samples.tick(1));
            EtaConsumer.Received update = consumer.await("an update", EtaConsumer.Received::isUpdate);
            assertEquals(FIRST, update.stream());
        }
    }

    @Test
    void nothingIsServedBeforeTheLogin() {
        market.consumer();
        try (EtaConsumer consumer = new EtaConsumer(market.port(), CompressionTypes.NONE)) {
            consumer.open(FIRST, EmaRdm.MMT_MARKET_PRICE, Source.SERVICE_ID, "EARLY.ETA");
            EtaConsumer.Received status = consumer.await("a refusal", each -> each.stream() == FIRST);
            assertEquals(MsgClasses.STATUS, status.msgClass());
            assertEquals(DataStates.SUSPECT, status.state().data());
            assertTrue(status.state().stream() != StreamStates.OPEN, status.toString());
            assertEquals(0, market.source().openStreams("EARLY.ETA"));
        }
    }

    @Test
    @DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
    void aServiceNumberNobodyHasIsRefused() {
        try (EtaConsumer consumer = connected(CompressionTypes.NONE)) {
            consumer.open(FIRST, EmaRdm.MMT_MARKET_PRICE, 60_000, "ANY.ETA");
            EtaConsumer.Received status = consumer.await("a refusal", each -> each.stream() == FIRST);
            assertEquals(MsgClasses.STATUS, status.msgClass());
            assertEquals(DataStates.SUSPECT, status.state().data());
        }
    }
}
