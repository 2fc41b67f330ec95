package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.rdm.EmaRdm;
import java.util.List;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Every compression on both sides, with small fragments at the source and at the server. */
@Timeout(60)
class CompressionTest {
    private static final int FRAGMENT_BYTES = 600;

    @RegisterExtension
    final Logs logs = new Logs();

    @ParameterizedTest
    @EnumSource(Settings.Compression.class)
    void whatWasPublishedArrives(Settings.Compression compression) {
        int port = Ports.free();
        try (Source source = new Source(port, compression, FRAGMENT_BYTES);
                Tap upstream = new Tap(port);
                Tapeline tapeline = Market.DIRECT ? null : start(compression, upstream.port());
                Tap downstream = new Tap(Market.DIRECT ? port : tapeline.consumerPort());
                Consumer consumer = new Consumer(compression, downstream.port())) {
            read(source, consumer);
            expect("server", compression, downstream);
            if (!Market.DIRECT) {
                expect("source", compression, upstream);
            }
        }
    }

    /** The hub asks its provider for compression only if its configuration says so. */
    private Tapeline start(Settings.Compression compression, int source) {
        String name = compression.name().toLowerCase(java.util.Locale.ROOT);
        return logs.of(Tapeline.run(
                """
                [server]
                fragment-bytes = %d
                [[hub.source]]
                hosts = ["127.0.0.1:%d"]
                compression = "%s"
                """
                        .formatted(FRAGMENT_BYTES, source, name)));
    }

    private static void read(Source source, Consumer consumer) {
        Stream quote = consumer.open(Source.SERVICE, "EVERY.TYPE");
        Stream book = consumer.open(
                EmaFactory.createReqMsg().domainType(EmaRdm.MMT_MARKET_BY_ORDER).serviceName(Source.SERVICE)
                        .name("BOOK.N"),
                "BOOK.N");
        assertEquals(Samples.everyType(), quote.image().payload());
        assertEquals(Samples.book(Source.BOOK_ORDERS), book.image().payload());
        int count = 2_000;
        for (long n = 1; n <= count; n++) {
            source.update("EVERY.TYPE", n, Samples.tick(n));
        }
        List<Event> updates = quote.events.await(count, "updates", Event::isUpdate);
        for (int i = 0; i < count; i++) {
            assertEquals(i + 1, updates.get(i).seq());
            assertEquals(Samples.tick(i + 1), updates.get(i).payload());
        }
    }

    private static void expect(String side, Settings.Compression compression, Tap wire) {
        assertEquals(compression.ordinal(), wire.compression(), side);
        assertEquals(FRAGMENT_BYTES, wire.fragmentBytes(), side);
        List<Tap.Frame> frames = wire.frames();
        assertTrue(frames.size() > 100, frames.size() + " frames");
        boolean compressed = frames.stream().anyMatch(Tap.Frame::compressed);
        assertEquals(compression != Settings.Compression.NONE, compressed, "frames are compressed");
        int longest = frames.stream().mapToInt(Tap.Frame::length).max().orElse(0);
        assertTrue(longest <= FRAGMENT_BYTES + 3, "a frame of " + longest + " bytes");
    }
}
