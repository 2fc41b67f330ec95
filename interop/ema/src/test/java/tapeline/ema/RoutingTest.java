package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.refinitiv.ema.rdm.EmaRdm;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Request routing: an EMA consumer with several servers, each asked for what it has. */
@DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
class RoutingTest {
    private static final int ITEMS = 50;
    private static final String ONE = "ONE_FEED";
    private static final String TWO = "TWO_FEED";
    /** EMA gives the services of several servers numbers of its own, downwards from here or upwards. */
    private static final long LEAST_OWN_ID = 32_767;

    @RegisterExtension
    final Logs logs = new Logs();

    private final int[] ports = {Ports.free(), Ports.free(), Ports.free(), Ports.free()};

    /** A server with the common service, and one of its own. */
    private Tapeline server(int rsslPort, int common, int own) {
        return logs.of(Tapeline.serving(
                "run", "--source", "127.0.0.1:" + common, "--source", "127.0.0.1:" + own, "--ni-port", "0",
                "--rssl-port", String.valueOf(rsslPort), "--backbone", "aeron:ipc"));
    }

    /** Names of services as EMA has them, and their numbers. */
    private static Map<String, Long> services(Stream directory) {
        Map<String, Long> services = new TreeMap<>();
        for (Event event : directory.events.all(e -> e.payload() instanceof Value.Rows)) {
            for (Value.Row row : ((Value.Rows) event.payload()).rows()) {
                if (row.load() instanceof Value.Rows filters
                        && filters.get(new Value.UInt(EmaRdm.SERVICE_INFO_ID)) instanceof Value.Elements info) {
                    services.put(((Value.Ascii) info.get("Name")).text(), ((Value.UInt) row.key()).value());
                }
            }
        }
        return services;
    }

    private static List<Source.Request> asked(Source source, String prefix) {
        return source.requests.all(request -> request.name().startsWith(prefix));
    }

    private static void everyItemIsLive(Source source, String prefix, Watchlist items, int tick) {
        items.mark();
        for (int i = 0; i < ITEMS; i++) {
            source.update(Watchlist.name(prefix, i), tick, Samples.tick(tick));
        }
        for (int i = 0; i < ITEMS; i++) {
            assertEquals(Samples.tick(tick), items.awaitUpdate(i).payload(), prefix + i);
        }
    }

    @Test
    void itemsComeFromWhereTheirServiceIs() {
        int restarted = Ports.free();
        try (Source commonAtFirst = new Source(ports[0]);
                Source own = Source.of(ONE, ports[1]);
                Source commonAtSecond = new Source(ports[2]);
                Source other = Source.of(TWO, ports[3]);
                Tapeline first = server(restarted, ports[0], ports[1]);
                Tapeline second = server(0, ports[2], ports[3])) {
            for (Tapeline server : List.of(first, second)) {
                server.awaitLogged(2, "a service is up");
            }
            Tapeline back = null;
            try (Consumer consumer = Consumer.routing(first.consumerPort(), second.consumerPort())) {
                Stream directory = consumer.directory(EmaRdm.SERVICE_INFO_FILTER | EmaRdm.SERVICE_STATE_FILTER);
                directory.events.await(
                        "three services", e -> services(directory).size() == 3);
                Map<String, Long> services = services(directory);
                assertEquals(List.of(Source.SERVICE, ONE, TWO), List.copyOf(services.keySet()));
                assertTrue(services.values().stream().allMatch(id -> id >= LEAST_OWN_ID), services.toString());

                Watchlist ofFirst = Watchlist.open(consumer, ONE, "O", ITEMS);
                Watchlist ofSecond = Watchlist.open(consumer, TWO, "T", ITEMS);
                Watchlist common = Watchlist.open(consumer, "C", ITEMS);
                assertEquals(ITEMS, asked(own, "O").size());
                assertEquals(ITEMS, asked(other, "T").size());
                assertEquals(ITEMS, asked(commonAtFirst, "C").size(), "asked at one server, the first");
                assertEquals(0, asked(commonAtSecond, "C").size());
                everyItemIsLive(own, "O", ofFirst, 1);
                everyItemIsLive(other, "T", ofSecond, 1);
                everyItemIsLive(commonAtFirst, "C", common, 1);

                ofFirst.mark();
                ofSecond.mark();
                common.mark();
                Watch watch = Watch.start();
                first.kill();
                common.awaitImages();
                watch.print("one of two servers of a routing consumer killed: the common items live at the other");
                ofFirst.awaitStale();
                ofSecond.assertUndisturbed();
                assertEquals(ITEMS, asked(commonAtSecond, "C").size());
                everyItemIsLive(commonAtSecond, "C", common, 2);
                everyItemIsLive(other, "T", ofSecond, 2);

                ofFirst.mark();
                back = server(restarted, ports[0], ports[1]);
                ofFirst.awaitImages();
                everyItemIsLive(own, "O", ofFirst, 3);
                everyItemIsLive(commonAtSecond, "C", common, 3);
                for (Watchlist items : List.of(ofFirst, ofSecond, common)) {
                    items.assertAlwaysOpen();
                }
            } finally {
                if (back != null) {
                    back.close();
                }
            }
        }
    }
}
