package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.refinitiv.ema.access.OmmState.StatusCode;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Two services of two EMA providers that are one to a consumer, which knows the group's name only. */
@DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
class ServiceGroupTest {
    private static final int ITEMS = 100;
    private static final String GROUP = "FEED";

    @RegisterExtension
    final Logs logs = new Logs();

    private static String configuration(int... ports) {
        return String.format(
                "[admin]\nport = 0\n[[hub.source]]\nhosts = [\"127.0.0.1:%d\"]\n[[hub.source]]\nhosts = [\"127.0.0.1:%d\"]\n"
                        + "[[service]]\nname = \"%s\"\nmembers = [\"EAST\", \"WEST\"]\n",
                ports[0], ports[1], GROUP);
    }

    @Test
    void itemsOfAMemberThatDiesGoOnAtTheNext() {
        int[] ports = {Ports.free(), Ports.free()};
        // The second source in the configuration has the first member.
        Source west = Source.of("WEST", ports[0]);
        Source east = Source.of("EAST", ports[1]);
        try (Tapeline tapeline = logs.of(Tapeline.run(configuration(ports)));
                Consumer consumer = new Consumer(Settings.Compression.NONE, tapeline.consumerPort())) {
            tapeline.awaitNumber("counters", "sources_up", 2);
            Stream stranger = consumer.open("EAST", "ALONE.N");
            Watchlist items = Watchlist.open(consumer, GROUP, "GROUP", ITEMS);
            east.requests.await(ITEMS, "requests", request -> request.name().startsWith("GROUP"));
            assertEquals(List.of(), west.requests.all(request -> request.name().startsWith("GROUP")));
            items.mark();
            Watch watch = Watch.start();
            east.close();
            List<Event> told = items.awaitStale();
            assertTrue(told.stream().allMatch(event -> event.state().code() == StatusCode.FAILOVER_STARTED));
            items.awaitImages();
            watch.print("member of a service group killed: all items live from the next");
            west.update("GROUP0.N", 9, Samples.tick(9));
            assertEquals(Samples.tick(9), items.awaitUpdate(0).payload());
            items.assertAlwaysOpen();
            assertEquals(List.of(), stranger.events.all(Event::isImage), "consumers do not know the member's name");
        } finally {
            east.close();
            west.close();
        }
    }
}
