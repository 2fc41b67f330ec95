package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.refinitiv.ema.access.ComplexType;
import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.access.FieldList;
import com.refinitiv.ema.access.MapEntry;
import com.refinitiv.ema.access.OmmException;
import com.refinitiv.ema.access.OmmState.DataState;
import com.refinitiv.ema.access.OmmState.StatusCode;
import com.refinitiv.ema.access.OmmState.StreamState;
import com.refinitiv.ema.rdm.EmaRdm;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A policy in force: who may log in, and who is shown which item of an EMA provider. */
@DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
class EntitlementTest {
    /** Locks of service 257: PE 62, PE 63, both, one of the two. */
    private static final String L1 = "03010162c0";
    private static final String L2 = "03010163c0";
    private static final String BOTH = "03010162a63c";
    private static final String EITHER = "03010162b63c";
    /** One of two sources: PE 162 of service 257, and PE 1 of service 258. */
    private static final String TWO_SOURCES = "030101162d01021c";

    private static final int PROD_PERM = 1;
    private static final int DISPLAY_NAME = 3;

    private static final String POLICY = """
            version = 1
            [[lock-service]]
            id = 257
            service = "EMA_FEED"
            [[lock-service]]
            id = 258
            service = "EMA_ABROAD"
            [[product]]
            name = "FAR"
            service = "EMA_FEED"
            pe = [162]
            [[product]]
            name = "ABROAD"
            service = "EMA_ABROAD"
            pe = [1]
            [[role]]
            name = "far"
            products = ["FAR"]
            [[role]]
            name = "abroad"
            products = ["ABROAD"]
            [[user]]
            name = "gil"
            roles = ["far", "abroad"]
            [[user]]
            name = "hal"
            roles = ["far"]
            [[user]]
            name = "ida"
            roles = ["abroad"]
            [[product]]
            name = "L1"
            service = "EMA_FEED"
            pe = [62]
            [[product]]
            name = "L2"
            service = "EMA_FEED"
            pe = [63]
            [[role]]
            name = "l1"
            products = ["L1"]
            [[role]]
            name = "l2"
            products = ["L2"]
            [[role]]
            name = "names"
            grants = [{ service = "EMA_FEED", subjects = ["OPEN*"] }]
            [[role]]
            name = "bids"
            fields = ["allow", 3, 22]
            [[user]]
            name = "lev"
            roles = ["names", "bids"]
            [[user]]
            name = "ann"
            roles = ["l1", "names"]
            [[user]]
            name = "bob"
            roles = ["l1", "l2"]
            positions = 1
            [[user]]
            name = "cid"
            roles = ["l1"]
            applications = ["256"]
            """;

    @RegisterExtension
    final Logs logs = new Logs();

    @RegisterExtension
    final Opened opened = new Opened();
    private Path policy;
    private Source source;
    private Tapeline tapeline;

    @BeforeEach
    void start() throws IOException {
        policy = Files.createTempFile("tapeline-policy", ".toml");
        Files.writeString(policy, POLICY);
        int port = Ports.free();
        source = new Source(port);
        tapeline = logs.of(Tapeline.entitled(policy, port));
    }

    @AfterEach
    void stop() throws Exception {
        opened.close();
        source.close();
        tapeline.close();
        Files.delete(policy);
    }

    private Consumer consumer(String user) {
        return consumer(new Consumer.User(user));
    }

    private Consumer consumer(Consumer.User user) {
        return opened.keep(new Consumer(user, tapeline.consumerPort()));
    }

    private static Supplier<ComplexType> named(String name) {
        return () -> {
            FieldList fields = EmaFactory.createFieldList();
            fields.add(EmaFactory.createFieldEntry().rmtes(DISPLAY_NAME, ByteBuffer.wrap(ascii(name))));
            return fields;
        };
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    private static void assertDenied(Stream stream, String text) {
        Event end = stream.closed();
        assertEquals(StatusCode.NOT_AUTHORIZED, end.state().code(), end.toString());
        assertEquals(text, end.state().text());
    }

    private static void assertShown(Stream stream) {
        assertTrue(stream.image().says(StreamState.OPEN, DataState.OK));
    }

    @Test
    void aLockedItemIsForThoseWithItsCodeAndNoByteOfItIsForOthers() {
        source.lock("VOD.L", L2, named("SECRET-OF-VOD"));
        Tap tap = opened.keep(new Tap(tapeline.consumerPort()));
        Consumer ann = opened.keep(new Consumer(new Consumer.User("ann"), tap.port()));
        Consumer bob = consumer("bob");
        Stream shown = bob.open(Source.SERVICE, "VOD.L");
        assertShown(shown);
        Stream denied = ann.open(Source.SERVICE, "VOD.L");
        assertDenied(denied, "Access Denied: User req to PE(63)");
        source.update("VOD.L", 1, Value.fields(Value.field(DISPLAY_NAME, new Value.Rmtes("SECRET-OF-VOD-2"))));
        shown.updateFrom(0);
        // What follows on the same connection is there: so is whatever would have come before it.
        source.put("OPEN.A", named("FOR-EVERYBODY"));
        assertShown(ann.open(Source.SERVICE, "OPEN.A"));
        assertTrue(tap.carried("FOR-EVERYBODY"));
        assertFalse(tap.carried("SECRET"), "a byte of the item went to who may not see it");
    }

    @Test
    void whoWaitsForAnItemTogetherIsPartedByItsLock() {
        source.lock("VOD.L", L2, named("VOD"));
        Consumer ann = consumer("ann");
        Consumer bob = consumer("bob");
        Stream denied = ann.open(Source.SERVICE, "VOD.L");
        Stream shown = bob.open(Source.SERVICE, "VOD.L");
        assertShown(shown);
        assertDenied(denied, "Access Denied: User req to PE(63)");
    }

    @Test
    void andAndOrMeanWhatTheySay() {
        source.lock("BOTH.L", BOTH, named("B"));
        source.lock("EITHER.L", EITHER, named("E"));
        Consumer ann = consumer("ann");
        Consumer bob = consumer("bob");
        assertShown(bob.open(Source.SERVICE, "BOTH.L"));
        assertShown(bob.open(Source.SERVICE, "EITHER.L"));
        assertShown(ann.open(Source.SERVICE, "EITHER.L"));
        assertDenied(ann.open(Source.SERVICE, "BOTH.L"), "Access Denied: User req to PE(63)");
    }

    @Test
    void anotherLockByStatusEndsStreams() {
        source.lock("VOD.L", L1, named("VOD"));
        Stream ann = consumer("ann").open(Source.SERVICE, "VOD.L");
        Stream bob = consumer("bob").open(Source.SERVICE, "VOD.L");
        assertShown(ann);
        assertShown(bob);
        source.relock("VOD.L", L2);
        assertDenied(ann, "Access Denied: User req to PE(63)");
        source.update("VOD.L", 1, Samples.tick(1));
        bob.updateFrom(0);
    }

    @Test
    void anotherLockByRefreshEndsStreamsAndTheImageIsForThoseWithItsCode() {
        source.lock("VOD.L", L1, named("VOD"));
        Tap tap = opened.keep(new Tap(tapeline.consumerPort()));
        Stream ann = opened.keep(new Consumer(new Consumer.User("ann"), tap.port())).open(Source.SERVICE, "VOD.L");
        Stream bob = consumer("bob").open(Source.SERVICE, "VOD.L");
        assertShown(ann);
        assertShown(bob);
        int mark = bob.events.size();
        Value secret = Value.fields(Value.field(DISPLAY_NAME, new Value.Rmtes("SECRET")));
        source.relockByRefresh("VOD.L", L2, secret);
        assertDenied(ann, "Access Denied: User req to PE(63)");
        assertEquals(secret, bob.imageFrom(mark).payload());
        source.update("VOD.L", 1, Samples.tick(1));
        bob.updateFrom(mark);
        assertTrue(ann.events.all(Event::isUpdate).isEmpty());
        assertFalse(tap.carried("SECRET"), "a byte of the image went to who may not see it");
        // And back: who comes is shown it.
        source.relockByRefresh("VOD.L", L1, secret);
        Stream again = consumer("ann").open(Source.SERVICE, "VOD.L");
        assertShown(again);
    }

    @Test
    void aLockOfTwoSourcesWantsTheCodesOfBoth() {
        source.lock("BOTH.X", TWO_SOURCES, named("X"));
        assertShown(consumer("gil").open(Source.SERVICE, "BOTH.X"));
        assertDenied(consumer("hal").open(Source.SERVICE, "BOTH.X"), "Access Denied: User req to PE(1)");
        // Who has no code of the item's own service is refused before anything is known of it.
        assertDenied(consumer("ida").open(Source.SERVICE, "BOTH.X"), "Access Denied: service EMA_FEED");
    }

    @Test
    void anUpdateWithALockOfItsOwnIsForThoseWhoOpenThatAsWell() {
        source.lock("VOD.L", L1, named("VOD"));
        Stream ann = consumer("ann").open(Source.SERVICE, "VOD.L");
        Stream bob = consumer("bob").open(Source.SERVICE, "VOD.L");
        assertShown(ann);
        assertShown(bob);
        source.lockedUpdate("VOD.L", L2, Samples.tick(1));
        source.update("VOD.L", 2, Samples.tick(2));
        assertEquals(Samples.tick(2), ann.updateFrom(0).payload());
        assertEquals(Samples.tick(1), bob.updateFrom(0).payload());
    }

    @Test
    void withoutALockTheCodeInTheImageCountsThenTheName() {
        source.put("A.L", () -> {
            FieldList fields = EmaFactory.createFieldList();
            fields.add(EmaFactory.createFieldEntry().uintValue(PROD_PERM, 63));
            return fields;
        });
        source.put("OPEN.A", named("A"));
        source.put("CLOSED.A", named("A"));
        Consumer ann = consumer("ann");
        assertDenied(ann.open(Source.SERVICE, "A.L"), "Access Denied: User req to PE(63)");
        assertShown(ann.open(Source.SERVICE, "OPEN.A"));
        assertDenied(ann.open(Source.SERVICE, "CLOSED.A"), "Access Denied: CLOSED.A of service EMA_FEED");
        assertShown(consumer("bob").open(Source.SERVICE, "A.L"));
    }

    @Test
    void aUserIsShownTheFieldsOfHisRolesAndMoreWithAnImageByAnotherPolicy() throws IOException {
        source.put("OPEN.A", named("A"));
        Stream lev = consumer("lev").open(Source.SERVICE, "OPEN.A");
        Stream ann = consumer("ann").open(Source.SERVICE, "OPEN.A");
        assertShown(lev);
        assertShown(ann);
        source.update("OPEN.A", 1, Samples.tick(1));
        assertEquals(Samples.tick(1), ann.updateFrom(0).payload());
        assertEquals(
                Value.fields(Value.field(Samples.BID, Samples.price(100_001))), lev.updateFrom(0).payload());
        int mark = lev.events.size();
        Files.writeString(policy, POLICY.replace("[\"names\", \"bids\"]", "[\"names\"]"));
        lev.events.awaitFrom(mark, 1, "an image with all fields", Event::isImage, Inbox.PATIENCE);
        mark = lev.events.size();
        source.update("OPEN.A", 2, Samples.tick(2));
        assertEquals(Samples.tick(2), lev.updateFrom(mark).payload());
    }

    @Test
    void anOrderWithALockIsForThoseWithItsCode() {
        source.lock("BOOK.L", L1, () -> {
            com.refinitiv.ema.access.Map book = EmaFactory.createMap();
            for (String order : List.of("FREE", "SECRET")) {
                FieldList fields = EmaFactory.createFieldList();
                fields.add(EmaFactory.createFieldEntry().rmtes(DISPLAY_NAME, ByteBuffer.wrap(ascii(order))));
                ByteBuffer key = ByteBuffer.wrap(ascii(order));
                book.add(order.equals("FREE")
                        ? EmaFactory.createMapEntry().keyBuffer(key, MapEntry.MapAction.ADD, fields)
                        : EmaFactory.createMapEntry().keyBuffer(key, MapEntry.MapAction.ADD, fields, Value.bytes(L2)));
            }
            return book;
        });
        Tap tap = opened.keep(new Tap(tapeline.consumerPort()));
        Consumer ann = opened.keep(new Consumer(new Consumer.User("ann"), tap.port()));
        assertEquals(1, orders(ann));
        assertTrue(tap.carried("FREE"));
        assertFalse(tap.carried("SECRET"));
        assertEquals(2, orders(consumer("bob")));
    }

    private static int orders(Consumer consumer) {
        Stream stream = consumer.open(
                EmaFactory.createReqMsg().domainType(EmaRdm.MMT_MARKET_BY_ORDER).serviceName(Source.SERVICE)
                        .name("BOOK.L"),
                "BOOK.L");
        return ((Value.Rows) stream.image().payload()).rows().size();
    }

    /**
     * EMA tells an application that is refused by an exception of its constructor, with the text, and the client
     * of its login by a status, with the code.
     */
    private void assertRefused(Consumer.User user, int code, String text) {
        Stream login = new Stream("login of " + user);
        OmmException refused = assertThrows(
                OmmException.class, () -> new Consumer(user, login, tapeline.consumerPort()).close(), user.toString());
        assertTrue(refused.getMessage().contains(text), refused.getMessage());
        Event end = login.closed();
        assertEquals(code, end.state().code(), end.toString());
        assertEquals(text, end.state().text());
    }

    @Test
    void aLoginThatIsRefusedFailsWithTheTextAndAnotherUserWorksAfterwards() {
        assertRefused(new Consumer.User("eve"), 30, "User eve is unknown.");
        assertRefused(
                new Consumer.User("cid", "7", Consumer.POSITION), 32, "User cid may not use application 7.");
        source.put("OPEN.A", named("A"));
        assertShown(consumer("ann").open(Source.SERVICE, "OPEN.A"));
    }

    @Test
    void aUserHasAsManyLoginsAsPositionsAndTwoFromOneAreOne() {
        consumer("bob");
        consumer("bob");
        assertRefused(
                new Consumer.User("bob", "256", "127.0.0.1/elsewhere"), 31,
                "User bob has 1 of 1 logins, at 127.0.0.1/net.");
    }

    @Test
    void theLastLoginMayEndTheFirst() throws IOException {
        edit(POLICY.replace("version = 1", "version = 1\n[entitle]\npositions-full = \"last-wins\""));
        Stream first = consumer("bob").login();
        assertTrue(first.image().says(StreamState.OPEN, DataState.OK));
        consumer(new Consumer.User("bob", "256", "127.0.0.1/elsewhere"));
        assertEquals(StatusCode.DACS_MAX_LOGINS_REACHED, first.closed().state().code());
    }

    /** Puts a policy in force, and waits until it is. */
    private void edit(String text) throws IOException {
        String marker = "probe" + System.nanoTime();
        Path next = policy.resolveSibling(marker + ".toml");
        Files.writeString(next, text + "[[user]]\nname = \"" + marker + "\"\n");
        Files.move(next, policy, java.nio.file.StandardCopyOption.REPLACE_EXISTING);
        long end = System.nanoTime() + Inbox.PATIENCE.toNanos();
        while (true) {
            try {
                new Consumer(new Consumer.User(marker), tapeline.consumerPort()).close();
                return;
            } catch (OmmException e) {
                if (System.nanoTime() > end) {
                    throw e;
                }
            }
        }
    }

    @Test
    void aForcedLogoutEndsTheLoginAndNoUpdateFollows() throws Exception {
        source.lock("VOD.L", L1, named("VOD"));
        Consumer ann = consumer("ann");
        Stream login = ann.login();
        Stream item = ann.open(Source.SERVICE, "VOD.L");
        assertShown(item);
        Stream other = consumer("bob").open(Source.SERVICE, "VOD.L");
        assertShown(other);
        AtomicBoolean goesOn = new AtomicBoolean(true);
        Thread feed = new Thread(() -> {
            for (long n = 1; goesOn.get(); n++) {
                source.update("VOD.L", n, Samples.tick(n));
            }
        });
        feed.start();
        try {
            item.updateFrom(0);
            Files.writeString(policy, POLICY.replace("name = \"ann\"", "name = \"dan\""));
            Event end = login.closed();
            assertEquals("Force Logout from DACS.", end.state().text());
            int seen = item.events.size();
            int mark = other.events.size();
            // Others go on, and long after that nothing has come on the item.
            other.events.awaitFrom(mark, 1_000, "updates", Event::isUpdate, Inbox.PATIENCE);
            assertFalse(
                    item.events.all().subList(seen, item.events.size()).stream().anyMatch(Event::isUpdate),
                    "an update after the end of the login");
        } finally {
            goesOn.set(false);
            feed.join();
        }
    }
}
