package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.refinitiv.ema.access.OmmException;
import com.refinitiv.ema.access.OmmState.DataState;
import com.refinitiv.ema.access.OmmState.StatusCode;
import com.refinitiv.ema.access.OmmState.StreamState;
import com.refinitiv.ema.rdm.EmaRdm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;
import org.junit.jupiter.api.extension.RegisterExtension;

/** EMA non-interactive providers under a policy: each publishes into the services that its user is given. */
@DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
class PublisherTest {
    private static final String OURS = "EMA_OURS";
    private static final String THEIRS = "EMA_THEIRS";
    private static final String REFUSED = "Service is not open to non-interactive providers.";

    private static final String POLICY = """
            version = 1
            [entitle]
            no-lock = "subject"
            [[role]]
            name = "ours"
            publishes = ["EMA_OURS"]
            [[role]]
            name = "theirs"
            publishes = ["EMA_THEIRS"]
            [[role]]
            name = "interactive"
            publishes = ["EMA_FEED"]
            [[role]]
            name = "all"
            grants = [{ service = "EMA_OURS" }, { service = "EMA_THEIRS" }, { service = "EMA_FEED" }]
            [[user]]
            name = "ours"
            roles = ["ours"]
            [[user]]
            name = "theirs"
            roles = ["theirs"]
            [[user]]
            name = "forger"
            roles = ["interactive"]
            [[user]]
            name = "ann"
            roles = ["all"]
            """;

    @RegisterExtension
    final Logs logs = new Logs();

    @RegisterExtension
    final Opened opened = new Opened();
    private Path policy;
    private Source source;
    private Tapeline tapeline;
    private Consumer ann;

    @BeforeEach
    void start() throws IOException {
        policy = Files.createTempFile("tapeline-policy", ".toml");
        Files.writeString(policy, POLICY);
        int port = Ports.free();
        source = opened.keep(new Source(port));
        tapeline = opened.keep(logs.of(Tapeline.run("""
                [[hub.source]]
                hosts = ["127.0.0.1:%d"]
                [admin]
                port = 0
                [entitle]
                policy = "%s"
                """.formatted(port, policy))));
        ann = opened.keep(new Consumer(new Consumer.User("ann"), tapeline.consumerPort()));
        assertTrue(ann.open(Source.SERVICE, "ONE.N").image().says(StreamState.OPEN, DataState.OK));
    }

    @AfterEach
    void stop() throws Exception {
        opened.close();
        Files.delete(policy);
    }

    private Broadcaster provider(String user, String service) {
        return opened.keep(new Broadcaster(user, service, tapeline.providerPort()));
    }

    /**
     * One whose image is refused. EMA's provider drops what it hears of its items ("an item event without a matching
     * stream Id"), so that the answer is looked for on the wire.
     */
    private void assertRefused(String user, String service, String name) {
        Tap tap = opened.keep(new Tap(tapeline.providerPort()));
        opened.keep(new Broadcaster(user, service, tap.port())).publish(name, Samples.tick(666));
        tap.awaitCarried(REFUSED);
    }

    @Test
    void whatIsPublishedIntoAServiceThatIsGivenGoesAndIntoAnotherItIsRefused() {
        Broadcaster ours = provider("ours", OURS);
        ours.publish("A.B", Samples.quote("A.B"));
        Stream shown = ann.open(OURS, "A.B");
        assertEquals(Samples.quote("A.B"), shown.fresh(0).payload());
        // Somebody else has his own service, and not this one.
        assertRefused("theirs", OURS, "A.B");
        tapeline.awaitLogged(1, "service EMA_OURS: the policy does not give it to this user");
        tapeline.awaitCounted("tapeline_hub_publications_refused_total", 1);
        provider("theirs", THEIRS).publish("A.B", Samples.quote("A.B"));
        assertEquals(Samples.quote("A.B"), ann.open(THEIRS, "A.B").fresh(0).payload());
        // What was shown is untouched, and goes on.
        int mark = shown.events.size();
        ours.update("A.B", EmaRdm.MMT_MARKET_PRICE, 1, Samples.tick(1));
        assertEquals(Samples.tick(1), shown.updateFrom(mark).payload());
        assertEquals(1, shown.events.all(Event::isImage).size());
    }

    @Test
    void aServiceOfAnInteractiveProviderIsNotPublishedIntoThoughTheUserIsGivenIt() {
        assertRefused("forger", Source.SERVICE, "ONE.N");
        tapeline.awaitLogged(1, "service EMA_FEED: it is an interactive provider's");
        Stream shown = ann.open(Source.SERVICE, "TWO.N");
        assertEquals(Samples.quote("TWO.N"), shown.image().payload());
    }

    @Test
    void aProviderThatThePolicyDoesNotKnowIsRefusedWithTheText() {
        OmmException refused = assertThrows(
                OmmException.class, () -> new Broadcaster("eve", OURS, tapeline.providerPort()).close());
        assertTrue(refused.getMessage().contains("User eve is unknown."), refused.getMessage());
        tapeline.awaitCounted("tapeline_hub_logins_refused_total", 1);
    }

    @Test
    void aProviderThatLosesItsServiceIsLoggedOutWithTheText() throws IOException {
        Broadcaster ours = provider("ours", OURS);
        ours.publish("A.B", Samples.quote("A.B"));
        Stream shown = ann.open(OURS, "A.B");
        shown.fresh(0);
        int mark = ours.told.size();
        Files.writeString(policy, POLICY.replace("publishes = [\"EMA_OURS\"]", "publishes = []"));
        Value.State told = ours.told.awaitFrom(mark, "the end", state -> state.stream() == StreamState.CLOSED);
        assertEquals("Force Logout from DACS.", told.text());
        assertEquals(StatusCode.NOT_AUTHORIZED, told.code(), told.toString());
        shown.stale(0);
    }
}
