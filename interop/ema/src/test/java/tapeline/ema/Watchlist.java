package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.refinitiv.ema.access.OmmState.DataState;
import com.refinitiv.ema.access.OmmState.StreamState;
import java.time.Duration;
import java.util.List;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;

/** Many quotes that a consumer has open, and how much of what came for them is known. */
final class Watchlist {
    private static final Duration RETURN = Duration.ofSeconds(30);

    final List<Stream> streams;
    private int[] marks;

    private Watchlist(List<Stream> streams) {
        this.streams = streams;
        mark();
    }

    /** Opens items of the source's service, with their images. */
    static Watchlist open(Consumer consumer, String prefix, int count) {
        return open(consumer, Source.SERVICE, prefix, count);
    }

    /** Opens items of a service, with their images. */
    static Watchlist open(Consumer consumer, String service, String prefix, int count) {
        List<Stream> streams = IntStream.range(0, count)
                .mapToObj(i -> consumer.open(service, name(prefix, i)))
                .toList();
        streams.forEach(Stream::image);
        return new Watchlist(streams);
    }

    static String name(String prefix, int item) {
        return prefix + item + ".N";
    }

    /** Some of the items. */
    Watchlist only(List<Integer> items) {
        return new Watchlist(items.stream().map(streams::get).toList());
    }

    /** From here on only what comes later counts. */
    void mark() {
        marks = streams.stream().mapToInt(stream -> stream.events.size()).toArray();
    }

    List<Event> await(String what, Predicate<Event> which) {
        return IntStream.range(0, streams.size())
                .mapToObj(i -> streams.get(i).events.awaitFrom(marks[i], what, which, RETURN))
                .toList();
    }

    List<Event> awaitStale() {
        return await("OPEN/SUSPECT", e -> e.says(StreamState.OPEN, DataState.SUSPECT));
    }

    /** Every item has a good image again, with the content that the source gives it. */
    void awaitImages() {
        awaitImages(content -> content);
    }

    /** The same, where contents count as equal that have the same {@code form}. */
    void awaitImages(UnaryOperator<Value> form) {
        for (Event image : await("an image OPEN/OK", e -> e.isImage() && e.says(StreamState.OPEN, DataState.OK))) {
            assertEquals(form.apply(Samples.quote(image.name())), form.apply(image.payload()));
        }
    }

    Event awaitUpdate(int item) {
        return streams.get(item).updateFrom(marks[item]);
    }

    /** Nothing came since the mark. */
    void assertUndisturbed() {
        for (int i = 0; i < streams.size(); i++) {
            assertEquals(marks[i], streams.get(i).events.size(), streams.get(i).events.all().toString());
        }
    }

    /** No stream ever ended. */
    void assertAlwaysOpen() {
        for (Stream stream : streams) {
            assertEquals(
                    List.of(),
                    stream.events.all(e -> e.state() != null && e.state().stream() != StreamState.OPEN));
        }
    }
}
