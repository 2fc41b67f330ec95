package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.access.OmmException;
import com.refinitiv.ema.access.OmmState.DataState;
import com.refinitiv.ema.access.OmmState.StreamState;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What a report says of a day that follows a script, with EMA consumers and the journal of a server. */
@DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
class UsageTest {
    private static final String L1 = "03010162c0";
    private static final String L2 = "03010163c0";
    private static final int DISPLAY_NAME = 3;
    private static final int MONTH_DIGITS = 7;

    private static final String POLICY = """
            version = 1
            [[lock-service]]
            id = 257
            service = "EMA_FEED"
            [[product]]
            name = "L1"
            exchange = "LSE"
            service = "EMA_FEED"
            pe = [62]
            count = "user"
            [[product]]
            name = "DESKS"
            exchange = "LSE"
            service = "EMA_FEED"
            pe = [62]
            count = "position"
            [[product]]
            name = "L2"
            exchange = "LSE"
            service = "EMA_FEED"
            pe = [63]
            [[role]]
            name = "l1"
            products = ["L1", "DESKS"]
            [[role]]
            name = "l2"
            products = ["L2"]
            [[user]]
            name = "ann"
            roles = ["l1"]
            [[user]]
            name = "bob"
            roles = ["l1", "l2"]
            [[user]]
            name = "cid"
            roles = ["l1"]
            """;

    @RegisterExtension
    final Logs logs = new Logs();

    @RegisterExtension
    final Opened opened = new Opened();
    private Path folder;
    private Path policy;
    private Tapeline tapeline;

    @BeforeEach
    void start() throws IOException {
        folder = Files.createTempDirectory("tapeline-usage");
        policy = folder.resolve("policy.toml");
        Files.writeString(policy, POLICY);
        int port = Ports.free();
        Source source = opened.keep(new Source(port));
        source.lock("ONE.L", L1, UsageTest::content);
        source.lock("TWO.L", L2, UsageTest::content);
        tapeline = logs.of(Tapeline.run("""
                [[hub.source]]
                hosts = ["127.0.0.1:%d"]
                [entitle]
                policy = "%s"
                usage-dir = "%s"
                """.formatted(port, policy, folder.resolve("usage"))));
        opened.<AutoCloseable>keep(() -> tapeline.close());
    }

    private static com.refinitiv.ema.access.ComplexType content() {
        com.refinitiv.ema.access.FieldList fields = EmaFactory.createFieldList();
        fields.add(EmaFactory.createFieldEntry().rmtes(DISPLAY_NAME, ByteBuffer.wrap(new byte[] {'A'})));
        return fields;
    }

    @AfterEach
    void stop() throws Exception {
        opened.close();
        try (var files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }

    private Consumer consumer(String user, String position) {
        return new Consumer(new Consumer.User(user, "256", position), tapeline.consumerPort());
    }

    private static void watch(Consumer consumer, String item) {
        assertTrue(consumer.open(Source.SERVICE, item).image().says(StreamState.OPEN, DataState.OK));
    }

    private List<String> report(String... more) {
        try (var files = Files.list(folder.resolve("usage"))) {
            List<String> arguments = new ArrayList<>(List.of(
                    "entitle", "report", "--policy", policy.toString(), "--month",
                    Instant.now().toString().substring(0, MONTH_DIGITS)));
            arguments.addAll(List.of(more));
            files.map(Path::toString).sorted().forEach(arguments::add);
            Tapeline printing = logs.of(Tapeline.printing(arguments.toArray(String[]::new)));
            assertEquals(0, printing.exit());
            return printing.output().all();
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    @Test
    void aReportOfAScriptedDayIsTheScript() {
        // Somebody at two desks at a time, and later at a third; somebody else at the first one.
        try (Consumer first = consumer("ann", "127.0.0.1/one");
                Consumer second = consumer("ann", "127.0.0.1/two")) {
            watch(first, "ONE.L");
            watch(second, "ONE.L");
        }
        try (Consumer third = consumer("ann", "127.0.0.1/three")) {
            watch(third, "ONE.L");
            // Denied: no use of L2.
            third.open(Source.SERVICE, "TWO.L").closed();
        }
        try (Consumer bob = consumer("bob", "127.0.0.1/one")) {
            watch(bob, "ONE.L");
            Stream once = bob.open(
                    Consumer.request(Source.SERVICE, "TWO.L").interestAfterRefresh(false), "a snapshot");
            once.image();
        }
        assertThrows(OmmException.class, () -> consumer("eve", "127.0.0.1/one").close());
        tapeline.close();
        assertEquals(
                List.of(
                        "exchange,product,permissioned,used,count,units,peak,snapshots",
                        "LSE,L1,3,2,user,2,1,0",
                        "LSE,DESKS,3,2,position,3,2,0",
                        "LSE,L2,1,1,user,1,0,1"),
                report());
        assertEquals(
                List.of(
                        "exchange,product,user,application,usage",
                        "LSE,L1,ann,256,used", "LSE,L1,bob,256,used", "LSE,L1,cid,,unused",
                        "LSE,DESKS,ann,256,used", "LSE,DESKS,bob,256,used", "LSE,DESKS,cid,,unused",
                        "LSE,L2,bob,256,used"),
                report("--users"));
    }
}
