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
            [[user]]
            name = "eve"
            roles = ["desk"]
            """;
    private static final Consumer.User ANN = new Consumer.User("ann");
    private static final Consumer.User EVE = new Consumer.User("eve");
    private static final Consumer.User BOB = new Consumer.User("bob", "17", "10.1.2.3/desk-4");

    @RegisterExtension
    final Logs logs = new Logs();

    private Path policy;
    private Path config;
    private Source source;
    private Tapeline tapeline;

    @BeforeEach
    void prepare() throws IOException {
        policy = Files.createTempFile("tapeline-policy", ".toml");
        Files.writeString(policy, POLICY);
        config = Files.createTempFile("tapeline-shards", ".toml");
    }

    private void start(int shards) throws IOException {
        Files.writeString(config, "[server]\nshards = " + shards + "\n");
        int port = Ports.free();
        source = new Source(port);
        tapeline = logs.of(Tapeline.serving(
                "run", "--source", "127.0.0.1:" + port, "--policy", policy.toString(), "--ni-port", "off",
                "--rssl-port", "0", "--admin-port", "0", "--backbone", "aeron:ipc", "--config", config.toString()));
    }

    @AfterEach
    void stop() throws IOException {
        source.close();
        tapeline.close();
        Files.delete(policy);
        Files.delete(config);
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
    void everyVariableOfTheClassicMonitorHasTheScriptedValue() throws IOException {
        start(1);
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
                    "name", Source.SERVICE, "serviceID", "" + Source.SERVICE_ID, "State", "Up",
                    "QoS", "REALTIME:TICK_BY_TICK", "Dictionaries", "RWFFld RWFEnum",
                    "Capabilities", "DICTIONARY MARKET_PRICE MARKET_BY_ORDER MARKET_BY_PRICE SYMBOL_LIST",
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
        awaitNobody();
    }

    @Test
    void whatIsRecoveredByTheApplicationItselfCountsAsThat() throws IOException {
        start(1);
        try (Consumer eve = Consumer.recoveringItself(EVE, tapeline.consumerPort())) {
            eve.open(Source.SERVICE, "SEEN0.N").image();
            eve.open(Source.SERVICE, "MISSING.N").closed();
            Stream closed = eve.open(Source.SERVICE, "SEEN1.N");
            closed.image();
            eve.ema.unregister(closed.handle);
            await("USERS",
                    "loginName", "eve", "channels", "1", "total", "1", "active", "1",
                    "opens", "3", "recoverableOpens", "0", "nonRecoverableOpens", "3",
                    "recoverableCloses", "0", "nonRecoverableCloses", "2");
            await("MOUNTS", "loginName", "eve", "identifier", "own-recovery", "singleOpen", "False");
        }
        awaitNobody();
    }

    @Test
    void aUserIsTheSameOverAllShards() throws IOException {
        start(2);
        List<Consumer> mounts = new ArrayList<>();
        try {
            // The kernel deals connections out: with a dozen, no shard is left without.
            for (int i = 0; i < 12; i++) {
                Consumer ann = new Consumer(ANN, tapeline.consumerPort());
                mounts.add(ann);
                ann.open(Source.SERVICE, "SEEN" + i + ".N").image();
            }
            await("USERS",
                    "loginName", "ann", "channels", "12", "total", "12", "active", "12", "pending", "0", "stale", "0",
                    "opens", "12", "normalOpens", "12", "snapshotOpens", "0", "viewRequests", "0",
                    "recoverableOpens", "12", "nonRecoverableOpens", "0",
                    "aggregateItemLimit", "40", "maxPriorityClass", "3");
            List<Map<String, String>> blocks = print("MOUNTS");
            assertEquals(2, blocks.stream().map(each -> each.get("server")).distinct().count(), blocks.toString());
            assertEquals(12, blocks.stream().map(each -> each.get("server") + each.get("channel")).distinct().count());
            source.close();
            await("USERS", "loginName", "ann", "total", "12", "active", "0", "stale", "12");
        } finally {
            mounts.forEach(Consumer::close);
        }
        awaitNobody();
    }

    /** Who is gone is not shown any more. */
    private void awaitNobody() {
        long end = System.nanoTime() + Inbox.PATIENCE.toNanos();
        while (!print("USERS").isEmpty() || !print("MOUNTS").isEmpty()) {
            assertTrue(System.nanoTime() < end, () -> "still there: " + print("MOUNTS"));
        }
    }
}
