package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.refinitiv.ema.access.OmmException;
import com.refinitiv.ema.access.OmmState.DataState;
import com.refinitiv.ema.access.OmmState.StreamState;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A web server that is asked, as Open Policy Agent would be, who may log in: and EMA consumers that do. */
@DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
class AuthoriserTest {
    /** Whom it lets in, with the one role of the policy; of somebody else it says why not. */
    private static final List<String> STAFF = List.of("dora", "finn");

    private static final int DACS_DOWN = 29;

    private static final String POLICY = """
            version = 1
            [entitle]
            no-lock = "subject"
            [[role]]
            name = "all"
            grants = [{ service = "EMA_FEED" }]
            """;

    @RegisterExtension
    final Logs logs = new Logs();

    @RegisterExtension
    final Opened opened = new Opened();
    private Path policy;
    private Authoriser authoriser;

    @BeforeEach
    void start() throws IOException {
        policy = Files.createTempFile("tapeline-policy", ".toml");
        Files.writeString(policy, POLICY);
        authoriser = opened.keep(new Authoriser(AuthoriserTest::answer));
    }

    private static String answer(String question) {
        boolean allowed = STAFF.stream().anyMatch(name -> question.contains("\"user\":\"" + name + "\""));
        String result = allowed ? "\"allow\":true,\"roles\":[\"all\"]" : "\"allow\":false,\"reason\":\"left the firm\"";
        return "{\"decision_id\":\"4ca636c1\",\"result\":{" + result + "}}";
    }

    @AfterEach
    void stop() throws Exception {
        opened.close();
        Files.delete(policy);
    }

    private Tapeline tapeline(int cacheSeconds) {
        return tapeline(cacheSeconds, "");
    }

    private Tapeline tapeline(int cacheSeconds, String more) {
        int port = Ports.free();
        opened.keep(new Source(port));
        return opened.keep(logs.of(Tapeline.run("""
                [[hub.source]]
                hosts = ["127.0.0.1:%d"]
                [entitle]
                policy = "%s"
                [authoriser]
                url = "%s"
                timeout-ms = 500
                cache-s = %d
                %s
                """.formatted(port, policy, authoriser.url(), cacheSeconds, more))));
    }

    private static void assertShown(Consumer consumer) {
        assertTrue(consumer.open(Source.SERVICE, "A.N").image().says(StreamState.OPEN, DataState.OK));
    }

    private static void assertLetIn(Tapeline tapeline, String user) {
        try (Consumer consumer = new Consumer(new Consumer.User(user), tapeline.consumerPort())) {
            assertShown(consumer);
        }
    }

    @Test
    void whoMayLogInIsAskedInTheFormOfOpenPolicyAgent() {
        Tapeline tapeline = tapeline(0);
        assertLetIn(tapeline, "dora");
        String question = authoriser.questions.await("a question", q -> q.contains("dora"));
        assertTrue(question.startsWith("POST {\"input\":{"), question);
        for (String part : List.of(
                "\"user\":\"dora\"", "\"verified\":false", "\"application\":\"256\"",
                "\"position\":\"" + Consumer.POSITION + "\"", "\"address\":\"127.0.0.1\"", "\"kind\":\"consumer\"",
                "\"reissue\":false")) {
            assertTrue(question.contains(part), question);
        }
        OmmException refused = assertThrows(
                OmmException.class,
                () -> new Consumer(new Consumer.User("eve"), tapeline.consumerPort()).close());
        assertTrue(refused.getMessage().contains("Login denied: left the firm"), refused.getMessage());
        assertLetIn(tapeline, "dora");
    }

    @Test
    void anAnswerIsGoodForTheSameQuestionAndNoOther() {
        Tapeline tapeline = tapeline(600);
        assertLetIn(tapeline, "dora");
        assertLetIn(tapeline, "dora");
        assertEquals(1, authoriser.questions.size());
        new Consumer(new Consumer.User("dora", "256", "127.0.0.1/elsewhere"), tapeline.consumerPort()).close();
        assertEquals(2, authoriser.questions.size());
    }

    @Test
    void whatCameBesideATokenIsInTheQuestionAndTheTokenIsNot() throws IOException {
        Issuer.SigningKey key = Issuer.SigningKey.rs256("rsa");
        try (Issuer issuer = new Issuer(key)) {
            Tapeline tapeline = tapeline(0, "[token]\njwks = \"%s\"\nissuer = \"%s\"\n".formatted(issuer.url(), Issuer.NAME));
            String token = Issuer.token(key, Issuer.Claims.of("dora"));
            assertShown(opened.keep(Consumer.withExtendedToken(token, "desk=fx", tapeline.consumerPort())));
            String question = authoriser.questions.await("a question", q -> q.contains("dora"));
            assertTrue(question.contains("\"extended\":\"desk=fx\""), question);
            assertTrue(question.contains("\"verified\":true"), question);
            assertFalse(question.contains(token), question);
            // What it decides is of both together: a name that it refuses is none with a good token either.
            String eve = Issuer.token(key, Issuer.Claims.of("eve"));
            OmmException refused = assertThrows(
                    OmmException.class,
                    () -> Consumer.withExtendedToken(eve, "desk=fx", tapeline.consumerPort()).close());
            assertTrue(refused.getMessage().contains("Login denied: left the firm"), refused.getMessage());
        }
    }

    @ParameterizedTest
    @EnumSource
    void whileItFailsWhoWasLetInLatelyIsLetInAndOthersComeAgain(Authoriser.Trouble trouble) throws Exception {
        Tapeline tapeline = tapeline(0);
        assertLetIn(tapeline, "dora");
        authoriser.fail(trouble);
        assertLetIn(tapeline, "dora");
        tapeline.awaitLogged(1, "the authoriser does not answer");
        // Nobody has asked for him before. EMA comes again until it is told something else.
        Stream login = new Stream("login of finn");
        CompletableFuture<Consumer> finn = CompletableFuture.supplyAsync(
                () -> new Consumer(new Consumer.User("finn"), login, tapeline.consumerPort()));
        tapeline.awaitLogged(1, "finn", "Login is not possible now");
        Event away = login.events.await("a status", it -> it.is(Event.Kind.STATUS) && it.state().code() == DACS_DOWN);
        assertEquals("Login is not possible now: the authoriser does not answer.", away.state().text());
        assertFalse(finn.isDone());
        authoriser.recover();
        assertShown(opened.keep(finn.get(Inbox.PATIENCE.toSeconds(), TimeUnit.SECONDS)));
        tapeline.awaitLogged(1, "the authoriser answers again");
    }
}
