package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Warm standby with two servers, each with a hub and sources of its own: nothing but their configuration makes
 * them alike.
 */
@DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
class StandbyGroupTest {
    private static final int ITEMS = 50;
    private static final String FEED = Source.SERVICE;
    private static final String RATES = "EMA_RATES";
    private static final int FEED_ID = 257;
    /** What the source says that is not to be heard. */
    private static final Value ELSEWHERE = Samples.tick(666);
    private static final String ROLE = "a client gave a role";
    private static final String ACTIVE = "role=active";
    private static final String STANDBY = "role=standby";
    private static final String LEFT = "a client has left right after it was told of services";

    @RegisterExtension
    final Logs logs = new Logs();

    private final Site first = new Site();
    private final Site second = new Site();

    /** A hub with a server, and the two sources of it. */
    private final class Site {
        private final int feedPort = Ports.free();
        private final int ratesPort = Ports.free();
        private Source feed;
        private Source rates;
        private Tapeline tapeline;

        void startFeed() {
            feed = new Source(feedPort);
        }

        void startRates() {
            rates = Source.of(RATES, ratesPort);
        }

        void start(int feedId, int... sources) {
            String all = "";
            for (int source : sources) {
                all += "[[hub.source]]\nhosts = [\"127.0.0.1:" + source + "\"]\n";
            }
            tapeline = logs.of(Tapeline.run(String.format(
                    "[admin]\nport = 0\n%s[[service]]\nname = \"%s\"\nid = %d\n[[service]]\nname = \"%s\"\nid = 300\n",
                    all, FEED, feedId, RATES)));
        }

        /** With both services, which it is waited for. */
        void startWhole(int feedId) {
            startFeed();
            startRates();
            start(feedId, feedPort, ratesPort);
            tapeline.awaitNumber("counters", "sources_up", 2);
        }

        int port() {
            return tapeline.consumerPort();
        }

        void awaitRole(String service, String role) {
            tapeline.awaitLogged(1, ROLE, "service=" + service, role);
        }

        void stop() {
            if (tapeline != null) {
                tapeline.close();
            }
            for (Source source : new Source[] {feed, rates}) {
                if (source != null) {
                    source.close();
                }
            }
        }
    }

    @AfterEach
    void stop() {
        first.stop();
        second.stop();
    }

    /** Each item has what this source publishes, and nothing of what the other one does. */
    private static void comesFrom(Source here, Source elsewhere, String prefix, Watchlist items, int tick) {
        items.mark();
        for (int i = 0; i < ITEMS; i++) {
            String name = Watchlist.name(prefix, i);
            elsewhere.update(name, 1, ELSEWHERE);
            here.update(name, 1, Samples.tick(tick));
        }
        for (int i = 0; i < ITEMS; i++) {
            assertEquals(Samples.tick(tick), items.awaitUpdate(i).payload(), prefix + i);
        }
        for (Stream stream : items.streams) {
            assertEquals(List.of(), stream.events.all(e -> e.isUpdate() && ELSEWHERE.equals(e.payload())));
        }
    }

    private static void awaitAsked(Source source, String prefix) {
        source.requests.await(ITEMS, "requests", request -> request.name().startsWith(prefix));
    }

    @Test
    void aServiceMovesAloneAndStaysUntilThePreferredServerIsWanted() {
        first.startWhole(FEED_ID);
        second.startWhole(FEED_ID);
        try (Consumer consumer = Consumer.ofServicesWithPreference(List.of(FEED, RATES), first.port(), second.port())) {
            first.awaitRole(FEED, ACTIVE);
            first.awaitRole(RATES, STANDBY);
            second.awaitRole(FEED, STANDBY);
            second.awaitRole(RATES, ACTIVE);
            Watchlist feed = Watchlist.open(consumer, FEED, "F", ITEMS);
            Watchlist rates = Watchlist.open(consumer, RATES, "R", ITEMS);
            for (Site site : List.of(first, second)) {
                awaitAsked(site.feed, "F");
                awaitAsked(site.rates, "R");
            }
            comesFrom(first.feed, second.feed, "F", feed, 1);
            comesFrom(second.rates, first.rates, "R", rates, 1);

            feed.mark();
            rates.mark();
            Watch watch = Watch.start();
            first.feed.close();
            second.awaitRole(FEED, ACTIVE);
            feed.await("an image with content", e -> e.isImage() && e.payload() instanceof Value.Fields);
            watch.print("source of a service lost at its active server: its items live at the other");
            rates.assertUndisturbed();
            for (int i = 0; i < ITEMS; i++) {
                second.feed.update(Watchlist.name("F", i), 2, Samples.tick(2));
                assertEquals(Samples.tick(2), feed.awaitUpdate(i).payload());
            }
            comesFrom(second.rates, first.rates, "R", rates, 2);

            // It is back where it was, and stands by.
            feed.mark();
            rates.mark();
            first.startFeed();
            awaitAsked(first.feed, "F");
            first.tapeline.awaitNumber("counters", "sources_up", 2);
            comesFrom(second.feed, first.feed, "F", feed, 3);
            assertEquals(1, first.tapeline.awaitLogged(1, ROLE, "service=" + FEED, ACTIVE), "nothing has changed");
            rates.assertUndisturbed();

            feed.mark();
            int requests = second.feed.requests.size();
            consumer.ema.fallbackPreferredHost();
            first.tapeline.awaitLogged(2, ROLE, "service=" + FEED, ACTIVE);
            second.tapeline.awaitLogged(2, ROLE, "service=" + FEED, STANDBY);
            feed.await("an image with content", e -> e.isImage() && e.payload() instanceof Value.Fields);
            comesFrom(first.feed, second.feed, "F", feed, 4);
            assertEquals(requests, second.feed.requests.size(), "nothing is asked of the source");
            rates.assertUndisturbed();
            feed.assertAlwaysOpen();
            rates.assertAlwaysOpen();
        }
    }

    @ParameterizedTest
    @EnumSource(Consumer.Standby.class)
    void serversAreOneGroupInWhateverOrderTheirSourcesCome(Consumer.Standby standby) {
        first.startWhole(FEED_ID);
        // The other way round, and one of them comes when the group is there.
        second.startRates();
        second.start(FEED_ID, second.ratesPort, second.feedPort);
        second.tapeline.awaitNumber("counters", "sources_up", 1);
        try (Consumer consumer = Consumer.ofGroup(standby, 0, first.port(), second.port())) {
            second.tapeline.awaitLogged(1, ROLE, STANDBY);
            Watchlist rates = Watchlist.open(consumer, RATES, "R", ITEMS);
            awaitAsked(second.rates, "R");
            Watchlist feed = Watchlist.open(consumer, FEED, "F", ITEMS);
            second.startFeed();
            awaitAsked(second.feed, "F");

            // One that goes and comes is no other service.
            second.rates.close();
            second.tapeline.awaitLogged(1, "a service is down", "service=" + RATES);
            second.startRates();
            awaitAsked(second.rates, "R");

            feed.mark();
            rates.mark();
            first.tapeline.kill();
            for (Watchlist items : List.of(feed, rates)) {
                items.await("an image with content", e -> e.isImage() && e.payload() instanceof Value.Fields);
            }
            for (int i = 0; i < ITEMS; i++) {
                second.feed.update(Watchlist.name("F", i), 2, Samples.tick(2));
                second.rates.update(Watchlist.name("R", i), 2, Samples.tick(2));
                assertEquals(Samples.tick(2), feed.awaitUpdate(i).payload());
                assertEquals(Samples.tick(2), rates.awaitUpdate(i).payload());
            }
            feed.assertAlwaysOpen();
            rates.assertAlwaysOpen();
            assertEquals(0, second.tapeline.awaitNumber("counters", "mounts_left_out", 0));
        }
    }

    @Test
    void aServerThatNumbersAServiceOtherwiseIsLeftOutAndItsLogSaysWhy() {
        first.startWhole(FEED_ID);
        second.startWhole(FEED_ID + 1);
        second.tapeline.awaitLogged(
                1, "a service has the number of its [[service]]", "service=" + FEED, "number=" + (FEED_ID + 1));
        try (Consumer consumer = Consumer.ofGroup(Consumer.Standby.BY_LOGIN, 0, first.port(), second.port())) {
            second.tapeline.awaitLogged(1, LEFT, "user=" + Consumer.USER);
            second.tapeline.awaitNumber("counters", "mounts_left_out", 1);
            Watchlist items = Watchlist.open(consumer, FEED, "F", ITEMS);
            first.feed.update(Watchlist.name("F", 0), 1, Samples.tick(1));
            assertEquals(Samples.tick(1), items.awaitUpdate(0).payload());
            assertEquals(List.of(), second.feed.requests.all(), "it has no part in it any more");
            assertEquals(0, first.tapeline.awaitNumber("counters", "mounts_left_out", 0));
        }
    }
}
