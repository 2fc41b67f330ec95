package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.refinitiv.ema.rdm.EmaRdm;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Two EMA providers that mirror each other: both have all items, one is used. */
@DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
class MirrorTest {
    private static final int ITEMS = 2_000;
    private static final int DIFFERENT = 10;
    private static final int IN_USE_ALONE = 0;
    private static final int IN_USE = 1;
    private static final int STANDBY = 2;
    private static final String TWICE = "TWICE";

    @RegisterExtension
    final Logs logs = new Logs();

    private static void awaitMode(Source source, int mode) {
        source.generics.await("mode " + mode, generic -> mode(generic) == mode);
    }

    /** What the hub says that a source is, -1 if it says something else. */
    private static int mode(Source.Generic generic) {
        if ("ConsumerStatus".equals(generic.name())
                && generic.payload() instanceof Value.Rows services
                && services.get(new Value.UInt(Source.SERVICE_ID)) instanceof Value.Elements elements
                && elements.get("SourceMirroringMode") instanceof Value.UInt mode) {
            return (int) mode.value();
        }
        return -1;
    }

    /** The first of these is used before the second. */
    private static String configuration(int... ports) {
        return String.format(
                "[[hub.source]]\nhosts = [\"127.0.0.1:%d\"]\n[[hub.source]]\nhosts = [\"127.0.0.1:%d\"]\norder = 1\n"
                        + "[[service]]\nname = \"%s\"\nmirror = \"image\"\n",
                ports[0], ports[1], Source.SERVICE);
    }

    @Test
    void theSecondSourceGoesOnWhereTheFirstWas() {
        int[] ports = {Ports.free(), Ports.free()};
        Source first = new Source(ports[0]);
        Source second = null;
        try (Tapeline tapeline = logs.of(Tapeline.run(configuration(ports)));
                Consumer consumer = new Consumer(Settings.Compression.NONE, tapeline.consumerPort())) {
            // Who is there first is used.
            awaitMode(first, IN_USE_ALONE);
            second = new Source(ports[1]);
            awaitMode(first, IN_USE);
            awaitMode(second, STANDBY);
            Watchlist items = Watchlist.open(consumer, "MIRROR", ITEMS);
            Source standby = second;
            standby.requests.await(ITEMS, "requests", request -> request.name().startsWith("MIRROR"));
            int requests = second.requests.size();
            for (int i = 0; i < DIFFERENT; i++) {
                first.update(Watchlist.name("MIRROR", i), 1, Samples.tick(1));
                assertEquals(Samples.tick(1), items.awaitUpdate(i).payload());
            }
            items.mark();
            Watch watch = Watch.start();
            first.close();
            awaitMode(second, IN_USE_ALONE);
            List<Integer> different = IntStream.range(0, DIFFERENT).boxed().toList();
            items.only(different).streams.forEach(stream -> stream.fresh(1));
            watch.print("mirrored source killed: its items go on from the other");
            int last = ITEMS - 1;
            second.update(Watchlist.name("MIRROR", last), 2, Samples.tick(2));
            assertEquals(Samples.tick(2), items.awaitUpdate(last).payload());
            assertEquals(requests, second.requests.size(), "nothing is asked of the standby");
            List<Event> told = IntStream.range(0, ITEMS)
                    .boxed()
                    .flatMap(i -> since(items, i).stream())
                    .filter(event -> !event.isUpdate())
                    .toList();
            assertEquals(DIFFERENT, told.size(), told.toString());
            items.assertAlwaysOpen();
        } finally {
            first.close();
            if (second != null) {
                second.close();
            }
        }
    }

    @Test
    void sourcesThatDoNotWantToKnowAreToldNothingAndStandByAllTheSame() {
        int[] ports = {Ports.free(), Ports.free()};
        Source first = Source.withoutConsumerStatus(ports[0]);
        Source second = null;
        try (Tapeline tapeline = logs.of(Tapeline.run(configuration(ports)));
                Consumer consumer = new Consumer(Settings.Compression.NONE, tapeline.consumerPort())) {
            // Who is there first is used.
            tapeline.awaitLogged(1, "a service is up");
            second = Source.withoutConsumerStatus(ports[1]);
            tapeline.awaitLogged(2, "msg=connected", "route=");
            Watchlist items = Watchlist.open(consumer, "UNTOLD", ITEMS);
            first.requests.await(ITEMS, "requests", request -> request.name().startsWith("UNTOLD"));
            second.requests.await(ITEMS, "requests", request -> request.name().startsWith("UNTOLD"));
            first.update("UNTOLD1.N", 1, Samples.tick(1));
            assertEquals(Samples.tick(1), items.awaitUpdate(1).payload());
            int requests = second.requests.size();
            items.mark();
            first.close();
            // The one item that differs has another image, and no other item has anything.
            items.only(List.of(1)).streams.get(0).fresh(2);
            second.update("UNTOLD2.N", 2, Samples.tick(2));
            assertEquals(Samples.tick(2), items.awaitUpdate(2).payload());
            assertEquals(requests, second.requests.size(), "nothing is asked of the standby");
            assertEquals(List.of(), first.generics.all());
            assertEquals(List.of(), second.generics.all());
            items.assertAlwaysOpen();
        } finally {
            first.close();
            if (second != null) {
                second.close();
            }
        }
    }

    @Test
    void aPublisherThatDiesIsFollowedByTheOneThatHasTheSame() {
        List<Broadcaster> publishers = new ArrayList<>();
        try (Tapeline tapeline = logs.of(Tapeline.run("[admin]\nport = 0\n"))) {
            Broadcaster first = publisher(publishers, tapeline);
            Broadcaster second = publisher(publishers, tapeline);
            try (Consumer consumer = new Consumer(Settings.Compression.NONE, tapeline.consumerPort())) {
                Watchlist items = Watchlist.open(consumer, Broadcaster.SERVICE, TWICE, ITEMS);
                tapeline.awaitNumber("counters", "claims", ITEMS);
                int same = ITEMS - 1;
                for (int i = 0; i < DIFFERENT; i++) {
                    update(first, i, 1);
                    items.awaitUpdate(i);
                }
                update(first, same, 1);
                update(second, same, 1);
                awaitHeard(second, consumer, "HEARD1.N");
                assertEquals(1, items.streams.get(same).events.all(Event::isUpdate).size(), "what both send comes once");

                items.mark();
                Watch watch = Watch.start();
                first.close();
                List<Integer> different = IntStream.range(0, DIFFERENT).boxed().toList();
                for (Event image : items.only(different).streams.stream().map(stream -> stream.fresh(2)).toList()) {
                    assertEquals(Samples.quote(image.name()), image.payload());
                }
                watch.print("publisher killed: its items go on from the one that stood by");
                everyItemComesFrom(second, items, 2);
                assertEquals(DIFFERENT, told(items), "the others are not told");

                Broadcaster back = publisher(publishers, tapeline);
                tapeline.awaitNumber("counters", "claims", ITEMS);
                int before = told(items);
                items.mark();
                update(back, same, 666);
                awaitHeard(back, consumer, "HEARD2.N");
                everyItemComesFrom(second, items, 3);
                assertEquals(before, told(items), "who returns stands by");
                items.mark();
                second.close();
                items.await("an image", Event::isImage);
                everyItemComesFrom(back, items, 4);
                items.assertAlwaysOpen();
            }
        } finally {
            publishers.forEach(Broadcaster::close);
        }
    }

    private static Broadcaster publisher(List<Broadcaster> all, Tapeline tapeline) {
        Broadcaster publisher = new Broadcaster(tapeline.providerPort(), Settings.Compression.NONE);
        all.add(publisher);
        for (int i = 0; i < ITEMS; i++) {
            String name = Watchlist.name(TWICE, i);
            publisher.publish(name, Samples.quote(name));
        }
        return publisher;
    }

    private static void update(Broadcaster publisher, int item, int tick) {
        publisher.update(Watchlist.name(TWICE, item), EmaRdm.MMT_MARKET_PRICE, tick, Samples.tick(tick));
    }

    /** What a publisher sent so far has arrived. */
    private static void awaitHeard(Broadcaster publisher, Consumer consumer, String mark) {
        publisher.publish(mark, Samples.quote(mark));
        consumer.open(Broadcaster.SERVICE, mark).image();
    }

    private static void everyItemComesFrom(Broadcaster publisher, Watchlist items, int tick) {
        items.mark();
        for (int i = 0; i < ITEMS; i++) {
            update(publisher, i, tick);
        }
        for (int i = 0; i < ITEMS; i++) {
            assertEquals(Samples.tick(tick), items.awaitUpdate(i).payload(), "item " + i);
        }
    }

    /** How much came that is no update, the first images left out. */
    private static int told(Watchlist items) {
        return items.streams.stream()
                .mapToInt(stream -> stream.events.all(event -> !event.isUpdate()).size() - 1)
                .sum();
    }

    /** What came for an item after its image and, where there was one, its first update. */
    private static List<Event> since(Watchlist items, int item) {
        List<Event> events = items.streams.get(item).events.all();
        return events.subList(item < DIFFERENT ? 2 : 1, events.size());
    }
}
