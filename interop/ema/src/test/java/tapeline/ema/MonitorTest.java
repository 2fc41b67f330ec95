package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.access.OmmState.DataState;
import com.refinitiv.ema.access.OmmState.StreamState;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What the classic monitor prints while the vendor's consumers and provider follow a script. */
@DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
class MonitorTest {
    private static final String POLICY = """
            version = 1
            [[product]]
            name = "all"
            service = "EMA_FEED"
            pe = [3056]
            [[role]]
            name = "desk"
            products = ["all"]
            grants = [{ service = "EMA_FEED", subjects = ["*"] }]
            item-limit = 40
            max-priority-class = 3
            [[user]]
            name = "ann"
            roles = ["desk"]
            [[user]]
            name = "bob"
            roles = ["desk"]
            """;
    private static final Consumer.User ANN = new Consumer.User("ann");
    private static final Consumer.User BOB = new Consumer.User("bob", "17", "10.1.2.3/desk-4");

    @RegisterExtension
    final Logs logs = new Logs();

    private Path policy;
    private Source source;
    private Tapeline tapeline;

    @BeforeEach
    void start() throws IOException {
        policy = Files.createTempFile("tapeline-policy", ".toml");
        Files.writeString(policy, POLICY);
        int port = Ports.free();
        source = new Source(port);
        tapeline = logs.of(Tapeline.serving(
                "run", "--source", "127.0.0.1:" + port, "--policy", policy.toString(), "--ni-port", "off",
                "--rssl-port", "0", "--admin-port", "0", "--backbone", "aeron:ipc"));
    }

    @AfterEach
    void stop() throws IOException {
        source.close();
        tapeline.close();
        Files.delete(policy);
    }

    /** The blocks that the monitor prints. */
    private List<Map<String, String>> print(String what) {
        List<Map<String, String>> blocks = new ArrayList<>();
        try (Tapeline monitor = Tapeline.printing(
                "adsmon", "-c", "rmds.cnf", "-instance", "1", "-print", what,
                "--admin", "127.0.0.1:" + tapeline.adminPort())) {
            assertEquals(0, monitor.exit(), monitor.log());
            Map<String, String> block = new LinkedHashMap<>();
            for (String line : monitor.output().all()) {
                int colon = line.indexOf(" :");
                if (colon >= 0) {
                    block.put(line.substring(0, colon), line.substring(colon + 2).strip());
                } else if (!block.isEmpty()) {
                    blocks.add(block);
                    block = new LinkedHashMap<>();
                }
            }
            if (!block.isEmpty()) {
                blocks.add(block);
            }
        }
        return blocks;
    }

    /** Waits until one of the blocks has these values, whatever else it has. */
    private Map<String, String> await(String what, String... namesAndValues) {
        Map<String, String> want = new LinkedHashMap<>();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            want.put(namesAndValues[i], namesAndValues[i + 1]);
        }
        long end = System.nanoTime() + Inbox.PATIENCE.toNanos();
        List<Map<String, String>> blocks;
        do {
            blocks = print(what);
            for (Map<String, String> block : blocks) {
                if (block.entrySet().containsAll(want.entrySet())) {
                    return block;
                }
            }
        } while (System.nanoTime() < end);
        throw new AssertionError("no " + want + " in " + blocks);
    }

    @Test
    void everyVariableOfTheClassicMonitorHasTheScriptedValue() {
        try (Consumer ann = new Consumer(ANN, tapeline.consumerPort());
                Consumer again = new Consumer(ANN, tapeline.consumerPort());
                Consumer bob = Consumer.ofInstance(BOB, "desk-4-blotter", tapeline.consumerPort())) {
            Watchlist items = Watchlist.open(ann, "SEEN", 5);
            again.open(Source.SERVICE, "SEEN0.N").image();
            again.open(Source.SERVICE, "SILENT.N");
            again.open(Consumer.request(Source.SERVICE, "SHOT.N").interestAfterRefresh(false), "SHOT.N").image();
            again.open(Source.SERVICE, "MISSING.N").closed();
            bob.open(Consumer.request(Source.SERVICE, "SEEN1.N").payload(Consumer.view(Samples.BID)), "SEEN1.N").image();

            // Two logins of one user; a snapshot and an item that there is not have ended.
            await("USERS",
                    "loginName", "ann", "channels", "2", "total", "7", "active", "6", "pending", "1", "stale", "0",
                    "opens", "9", "normalOpens", "8", "snapshotOpens", "1", "viewRequests", "0",
                    "recoverableOpens", "9", "nonRecoverableOpens", "0",
                    "recoverableCloses", "2", "nonRecoverableCloses", "0",
                    "aggregateItemLimit", "40", "maxPriorityClass", "3");
            Map<String, String> user = await("USERS",
                    "loginName", "bob", "channels", "1", "total", "1", "active", "1", "pending", "0", "stale", "0",
                    "opens", "1", "normalOpens", "1", "snapshotOpens", "0", "viewRequests", "1");
            assertTrue(Integer.parseInt(user.get("itemLimitPerMount")) > 0, user.toString());

            Map<String, String> mount = await("MOUNTS",
                    "loginName", "bob", "applicationKey", "17", "applicationName", "interop",
                    "position", "10.1.2.3/desk-4", "identifier", "desk-4-blotter",
                    "protocol", "RSSL", "singleOpen", "True");
            assertTrue(mount.get("hostname").startsWith("127.0.0.1"), mount.toString());
            assertTrue(mount.get("version").contains("eta"), mount.toString());
            Duration ago = Duration.between(
                    LocalDateTime.parse(mount.get("mountTime").replace(' ', 'T'), DateTimeFormatter.ISO_LOCAL_DATE_TIME),
                    LocalDateTime.now(ZoneOffset.UTC));
            assertTrue(ago.abs().compareTo(Duration.ofMinutes(2)) < 0, mount.toString());
            assertEquals(3, print("MOUNTS").stream().map(each -> each.get("channel")).distinct().count());

            await("SERVICES",
                    "name", Source.SERVICE, "State", "Up",
                    "items", "6", "active", "5", "pending", "1", "stale", "0");
            Map<String, String> process = print("PROCESS").get(0);
            assertEquals(System.getProperty("os.name") + " " + System.getProperty("os.version"), process.get("systemRelease"));
            assertTrue(process.get("releaseVersion").matches("\\d+\\.\\d+\\.\\d+.*"), process.toString());
            assertTrue(process.get("time").matches("\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d"), process.toString());

            // One item is suspect for both who have it, and then all are, with the one that waits.
            source.status("SEEN0.N", StreamState.OPEN, DataState.SUSPECT, 0, "late");
            await("USERS", "loginName", "ann", "total", "7", "active", "4", "pending", "1", "stale", "2");
            source.close();
            await("USERS", "loginName", "ann", "total", "7", "active", "0", "pending", "0", "stale", "7");
            await("USERS", "loginName", "bob", "total", "1", "active", "0", "stale", "1");
            await("SERVICES", "name", Source.SERVICE, "State", "Down", "active", "0");
        }
        // Who is gone is not shown any more.
        long end = System.nanoTime() + Inbox.PATIENCE.toNanos();
        while (!print("USERS").isEmpty() || !print("MOUNTS").isEmpty()) {
            assertTrue(System.nanoTime() < end, () -> "still there: " + print("MOUNTS"));
        }
    }
}
