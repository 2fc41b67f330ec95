package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.rdm.EmaRdm;
import java.util.List;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** An EMA consumer with its connection in WebSocket frames, at the same port as all others. */
@DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
class WebSocketTest {
    @RegisterExtension
    static final Market market = new Market();

    @ParameterizedTest
    @EnumSource(names = {"NONE", "ZLIB"})
    void itemsArriveAsTheyWerePublished(Settings.Compression compression) {
        try (Consumer consumer = Consumer.overWebSocket(compression, market.port())) {
            String name = "EVERY." + compression;
            Stream stream = consumer.open(Source.SERVICE, name);
            assertEquals(Samples.everyType(), stream.image().payload());
            Stream book = consumer.open(
                    EmaFactory.createReqMsg().domainType(EmaRdm.MMT_MARKET_BY_ORDER).serviceName(Source.SERVICE)
                            .name("BOOK." + compression),
                    "book");
            assertEquals(Samples.book(Source.BOOK_ORDERS), book.image().payload());
            int count = 1_000;
            for (long n = 1; n <= count; n++) {
                market.source().update(name, n, Samples.tick(n));
            }
            List<Event> updates = stream.events.await(count, "updates", Event::isUpdate);
            for (int i = 0; i < count; i++) {
                assertEquals(i + 1, updates.get(i).seq());
                assertEquals(Samples.tick(i + 1), updates.get(i).payload());
            }
        }
    }
}
