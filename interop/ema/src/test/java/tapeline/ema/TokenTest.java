package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.refinitiv.ema.access.OmmException;
import com.refinitiv.ema.access.OmmState.DataState;
import com.refinitiv.ema.access.OmmState.StatusCode;
import com.refinitiv.ema.access.OmmState.StreamState;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;
import org.junit.jupiter.api.extension.RegisterExtension;

/** EMA consumers that log in with an authentication token of an issuer, and renew it. */
@DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
class TokenTest {
    private static final String POLICY = """
            version = 1
            [entitle]
            no-lock = "subject"
            [[role]]
            name = "all"
            grants = [{ service = "EMA_FEED" }]
            [[user]]
            name = "ann"
            roles = ["all"]
            [[user]]
            name = "bob"
            roles = ["all"]
            """;

    /** A token that ends so soon that a test can wait for it, and late enough to log in with on a busy machine. */
    private static final int SHORT_S = 8;
    private static final int MARGIN_S = 5;

    @RegisterExtension
    final Logs logs = new Logs();

    private final Issuer.SigningKey rsa = Issuer.SigningKey.rs256("rsa");
    private final Issuer.SigningKey curve = Issuer.SigningKey.es256("curve");
    @RegisterExtension
    final Opened opened = new Opened();
    private Path policy;
    private Issuer issuer;
    private Source source;

    @BeforeEach
    void start() throws IOException {
        policy = Files.createTempFile("tapeline-policy", ".toml");
        Files.writeString(policy, POLICY);
        issuer = new Issuer(rsa, curve);
    }

    @AfterEach
    void stop() throws Exception {
        opened.close();
        issuer.close();
        Files.delete(policy);
    }

    private Tapeline tapeline(String renewal) {
        int port = Ports.free();
        source = opened.keep(new Source(port));
        return opened.keep(logs.of(Tapeline.run("""
                [[hub.source]]
                hosts = ["127.0.0.1:%d"]
                [entitle]
                policy = "%s"
                [token]
                jwks = "%s"
                issuer = "%s"
                renewal = "%s"
                renewal-margin-s = %d
                leeway-s = 0
                needed = true
                """.formatted(port, policy, issuer.url(), Issuer.NAME, renewal, MARGIN_S))));
    }

    private Consumer consumer(Tapeline tapeline, String token) {
        return opened.keep(Consumer.withToken(token, tapeline.consumerPort()));
    }

    private static void assertShown(Consumer consumer, String name) {
        Stream stream = consumer.open(Source.SERVICE, name);
        assertTrue(stream.image().says(StreamState.OPEN, DataState.OK));
    }

    /** EMA tells an application that is refused by an exception of its constructor. */
    private static String refusal(Tapeline tapeline, String token) {
        OmmException refused = assertThrows(
                OmmException.class, () -> Consumer.withToken(token, tapeline.consumerPort()).close(), token);
        return refused.getMessage();
    }

    private static void assertRefused(Tapeline tapeline, String token, String why) {
        Stream login = new Stream("login");
        OmmException refused = assertThrows(
                OmmException.class, () -> Consumer.withToken(token, login, tapeline.consumerPort()).close(), token);
        String text = "Login denied: " + why;
        assertTrue(refused.getMessage().contains(text), refused.getMessage());
        Event end = login.closed();
        assertEquals(StatusCode.NOT_AUTHORIZED, end.state().code(), end.toString());
        assertEquals(text, end.state().text());
    }

    @Test
    void aTokenOfEitherAlgorithmIsItsUser() {
        Tapeline tapeline = tapeline("v1");
        for (Issuer.SigningKey key : List.of(rsa, curve)) {
            assertShown(consumer(tapeline, Issuer.token(key, Issuer.Claims.of("ann"))), "A.N");
        }
        String text = refusal(tapeline, Issuer.token(rsa, Issuer.Claims.of("eve")));
        assertTrue(text.contains("User eve is unknown."), text);
        OmmException named = assertThrows(
                OmmException.class,
                () -> new Consumer(new Consumer.User("ann"), tapeline.consumerPort()).close());
        assertTrue(named.getMessage().contains("A token is needed to log in."), named.getMessage());
    }

    @Test
    void whatIsWrongWithATokenIsTold() {
        Tapeline tapeline = tapeline("v1");
        Issuer.Claims ann = Issuer.Claims.of("ann");
        assertRefused(tapeline, Issuer.token(rsa, ann.expiringIn(-1)), "the token has expired");
        assertRefused(tapeline, Issuer.token(rsa, ann.forAudience("others")), "the token is for another audience");
        assertRefused(tapeline, Issuer.unsigned("none", "rsa", ann), "tokens of the algorithm none are not accepted");
        String ours = Issuer.token(rsa, Issuer.Claims.of("eve"));
        assertRefused(tapeline, Issuer.forged(ours, ann), "the token's signature is wrong");
        String others = Issuer.token(Issuer.SigningKey.rs256("rsa"), ann);
        assertRefused(tapeline, others, "the token's signature is wrong");
        assertShown(consumer(tapeline, Issuer.token(rsa, ann)), "A.N");
    }

    @Test
    void aKeyThatIsRotatedIsFetched() {
        Tapeline tapeline = tapeline("v1");
        assertShown(consumer(tapeline, Issuer.token(rsa, Issuer.Claims.of("ann"))), "A.N");
        int before = issuer.fetches.get();
        Issuer.SigningKey next = Issuer.SigningKey.es256("next");
        issuer.publish(next);
        assertShown(consumer(tapeline, Issuer.token(next, Issuer.Claims.of("ann"))), "A.N");
        assertEquals(before + 1, issuer.fetches.get());
        // One that nobody publishes has them be fetched once a minute at the most.
        String unknown = Issuer.token(Issuer.SigningKey.es256("stranger"), Issuer.Claims.of("ann"));
        assertRefused(tapeline, unknown, "the token's key stranger is not known");
        assertRefused(tapeline, Issuer.token(rsa, Issuer.Claims.of("ann")), "the token's key rsa is not known");
        assertEquals(before + 1, issuer.fetches.get());
    }

    @Test
    void aLoginEndsWithItsTokenUnlessItIsRenewed() {
        Tapeline tapeline = tapeline("v1");
        Issuer.Claims brief = Issuer.Claims.of("ann").expiringIn(SHORT_S);
        Consumer renewing = consumer(tapeline, Issuer.token(rsa, brief));
        Consumer other = consumer(tapeline, Issuer.token(curve, brief));
        Stream login = renewing.login();
        // In the middle of what is left of a token that is shorter than twice the margin.
        long renewAt = renewAt(login.image());
        assertTrue(renewAt >= brief.expiresAt() - MARGIN_S && renewAt <= brief.expiresAt(), "at " + renewAt);
        Stream kept = renewing.open(Source.SERVICE, "A.N");
        kept.image();
        Stream lost = other.open(Source.SERVICE, "A.N");
        lost.image();
        Stream ending = other.login();
        int mark = login.events.size();
        Issuer.Claims later = Issuer.Claims.of("ann");
        renewing.renew(login, Issuer.token(curve, later));
        assertEquals(later.expiresAt() - MARGIN_S, renewAt(login.imageFrom(mark)));
        Event end = ending.closed();
        assertEquals("The token has expired, and was not renewed.", end.state().text());
        assertEquals(StatusCode.NOT_AUTHORIZED, end.state().code());
        // The one that was renewed goes on, and has one stream at the source as before.
        int seen = kept.events.size();
        source.update("A.N", 1, Samples.tick(1));
        kept.updateFrom(seen);
        assertTrue(login.events.all().stream().noneMatch(e -> e.says(StreamState.CLOSED, DataState.SUSPECT)));
    }

    /** When the answer to a login asks for another token. */
    private static long renewAt(Event answer) {
        return ((Value.UInt) ((Value.Elements) answer.attrib()).get("AuthenticationTTReissue")).value();
    }

    @Test
    void aRenewalWithSomebodyElsesTokenEndsTheLogin() {
        Tapeline tapeline = tapeline("v1");
        Consumer consumer = consumer(tapeline, Issuer.token(rsa, Issuer.Claims.of("ann")));
        Stream login = consumer.login();
        login.image();
        consumer.renew(login, Issuer.token(rsa, Issuer.Claims.of("bob")));
        assertEquals(StatusCode.NOT_AUTHORIZED, login.closed().state().code());
    }

    @Test
    void withTheOtherKindOfRenewalATokenIsGoodUntilTheConnectionEnds() {
        Tapeline tapeline = tapeline("v2");
        String token = Issuer.token(rsa, Issuer.Claims.of("ann").expiringIn(SHORT_S));
        Consumer consumer = consumer(tapeline, token);
        Stream stream = consumer.open(Source.SERVICE, "A.N");
        stream.image();
        Stream login = consumer.login();
        assertEquals(null, ((Value.Elements) login.image().attrib()).get("AuthenticationTTReissue"));
        await("the end of the token", () -> {
            try {
                Consumer.withToken(token, tapeline.consumerPort()).close();
                return false;
            } catch (OmmException e) {
                return e.getMessage().contains("Login denied: the token has expired");
            }
        });
        int seen = stream.events.size();
        source.update("A.N", 1, Samples.tick(1));
        stream.updateFrom(seen);
    }

    private static void await(String what, BooleanSupplier is) {
        long end = System.nanoTime() + Inbox.PATIENCE.toNanos();
        while (!is.getAsBoolean()) {
            assertTrue(System.nanoTime() < end, what);
        }
    }
}
