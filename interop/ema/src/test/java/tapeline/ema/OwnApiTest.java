package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.refinitiv.ema.access.OmmReal.MagnitudeType;
import com.refinitiv.ema.access.OmmState.DataState;
import com.refinitiv.ema.access.OmmState.StreamState;
import java.io.UncheckedIOException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;
import org.junit.jupiter.api.extension.RegisterExtension;

/** This project's own consumer and provider, each straight at one of EMA's. */
@DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
class OwnApiTest {
    private static final ObjectMapper JSON = new ObjectMapper();

    @RegisterExtension
    final Logs logs = new Logs();

    private static JsonNode parse(String line) {
        try {
            return JSON.readTree(line);
        } catch (JsonProcessingException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static boolean is(String line, String event, String item) {
        JsonNode node = parse(line);
        return node.path("event").asText().equals(event) && node.path("item").asText().equals(item);
    }

    @Test
    void ourConsumerReadsAnEmaProvider() {
        int port = Ports.free();
        try (Source source = new Source(port);
                Tapeline client = logs.of(Tapeline.printing(
                        "client", "--server", "127.0.0.1:" + port, "-S", Source.SERVICE, "--json", "OWN.N", "EVERY.OWN"))) {
            JsonNode quote = parse(client.output().await("an image", line -> is(line, "refresh", "OWN.N")));
            assertEquals(Source.SERVICE, quote.path("service").asText());
            assertEquals("OPEN", quote.path("state").path("stream").asText());
            assertEquals("OK", quote.path("state").path("data").asText());
            Value.Real bid = (Value.Real) Samples.quote("OWN.N").get(Samples.BID);
            JsonNode fields = quote.path("fields");
            assertEquals(decimal(bid), fields.path("BID").asText());
            assertEquals("3056", fields.path("PROD_PERM").asText());
            assertEquals("OWN.N", fields.path("DSPLY_NAME").asText());
            assertTrue(fields.path("ASKSIZE").isNull(), fields.toString());
            JsonNode every = parse(client.output().await("an image", line -> is(line, "refresh", "EVERY.OWN")));
            assertEquals("-9000000000", every.path("fields").path("T_INT").asText());
            assertEquals("18000000000", every.path("fields").path("T_UINT").asText());
            assertEquals("Grüße, 東京", every.path("fields").path("T_UTF8").asText());
            int count = 1_000;
            for (long n = 1; n <= count; n++) {
                source.update("OWN.N", n, Samples.tick(n));
            }
            List<String> updates = client.output().await(count, "updates", line -> is(line, "update", "OWN.N"));
            for (int i = 0; i < count; i++) {
                Value.Real want = (Value.Real) Samples.tick(i + 1).get(Samples.BID);
                assertEquals(decimal(want), parse(updates.get(i)).path("fields").path("BID").asText());
            }
            source.status("OWN.N", StreamState.CLOSED, DataState.SUSPECT, 1, "delisted");
            JsonNode closed = parse(client.output().await("a status", line -> is(line, "status", "OWN.N")));
            assertEquals("CLOSED", closed.path("state").path("stream").asText());
            assertEquals("delisted", closed.path("state").path("text").asText());
        }
    }

    private static String decimal(Value.Real price) {
        return java.math.BigDecimal.valueOf(price.mantissa(), 2).toPlainString();
    }

    @Test
    void ourConsumerOutlivesAnEmaProvider() {
        int port = Ports.free();
        Source first = new Source(port);
        try (Tapeline client = logs.of(Tapeline.printing(
                "client", "--server", "127.0.0.1:" + port, "-S", Source.SERVICE, "--json", "LIVE.N"))) {
            client.output().await("an image", line -> is(line, "refresh", "LIVE.N"));
            Watch watch = Watch.start();
            first.close();
            client.output().await(
                    "OPEN/SUSPECT",
                    line -> is(line, "status", "LIVE.N") && parse(line).path("state").path("data").asText().equals("SUSPECT"));
            watch.print("EMA provider killed: our own consumer has noticed");
            int mark = client.output().size();
            Watch back = Watch.start();
            try (Source second = new Source(port)) {
                client.output().awaitFrom(mark, "an image", line -> is(line, "refresh", "LIVE.N"));
                back.print("EMA provider back: our own consumer has its item again");
                second.update("LIVE.N", 1, Samples.tick(1));
                client.output().awaitFrom(mark, "an update", line -> is(line, "update", "LIVE.N"));
            }
        } finally {
            first.close();
        }
    }

    @Test
    void anItemThatIsNotThereEndsOurConsumerWithStatusOne() {
        int port = Ports.free();
        try (Source source = new Source(port);
                Tapeline client = logs.of(Tapeline.printing(
                        "client", "--server", "127.0.0.1:" + port, "-S", Source.SERVICE, "--json", "--exit-after-image",
                        "MISSING.N", "THERE.N"))) {
            assertEquals(1, client.exit());
            JsonNode status = parse(client.output().await("a status", line -> is(line, "status", "MISSING.N")));
            assertEquals(Source.NOT_FOUND, status.path("state").path("text").asText());
            client.output().await("an image", line -> is(line, "refresh", "THERE.N"));
            source.requests.await("a request", request -> request.name().equals("THERE.N"));
        }
    }

    @Test
    void anEmaConsumerReadsOurProvider() {
        try (Tapeline source = logs.of(Tapeline.serving("source", "--listen", "127.0.0.1:0", "-U", "500"));
                Consumer consumer = new Consumer(Settings.Compression.NONE, source.consumerPort())) {
            Stream stream = consumer.open("SAMPLE", "TAPE1.X");
            Event image = stream.image();
            assertTrue(image.says(StreamState.OPEN, DataState.OK), image.toString());
            assertEquals("TAPE1.X", image.name());
            assertEquals("SAMPLE", image.service());
            assertEquals(new Value.Real(10_125, MagnitudeType.EXPONENT_NEG_2), image.fields().get(Samples.BID));
            assertEquals(new Value.Rmtes("TAPELINE ONE"), image.fields().get(Samples.DSPLY_NAME));
            // The sample comes round after so many updates.
            int round = 64;
            List<Event> updates = stream.events.await(2 * round, "two rounds of updates", Event::isUpdate);
            for (int i = 0; i < round; i++) {
                assertEquals(updates.get(i).payload(), updates.get(i + round).payload());
            }
            assertNotEquals(updates.get(0).payload(), updates.get(1).payload());
            Stream snapshot = consumer.open(
                    Consumer.request("SAMPLE", "TAPE2.X").interestAfterRefresh(false), "snapshot of TAPE2.X");
            assertEquals(StreamState.NON_STREAMING, snapshot.image().state().stream());
        }
    }

    @Test
    void anEmaConsumerFindsOurProviderAgain() {
        int port = Ports.free();
        Tapeline first = logs.of(Tapeline.serving("source", "--listen", "127.0.0.1:" + port));
        try (Consumer consumer = new Consumer(Settings.Compression.LZ4, port)) {
            Stream stream = consumer.open("SAMPLE", "TAPE1.X");
            stream.image();
            int mark = stream.events.size();
            first.kill();
            stream.stale(mark);
            try (Tapeline second = logs.of(Tapeline.serving("source", "--listen", "127.0.0.1:" + port))) {
                stream.fresh(mark);
                assertEquals(port, second.consumerPort());
            }
        } finally {
            first.close();
        }
    }
}
