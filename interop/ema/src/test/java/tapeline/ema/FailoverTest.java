package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.refinitiv.ema.access.OmmState.DataState;
import com.refinitiv.ema.access.OmmState.StreamState;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;

/** A consumer that knows two servers goes on at the second when the first is killed. */
@DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
class FailoverTest {
    @Test
    void aConsumerGoesOnAtTheSecondServer() {
        int port = Ports.free();
        try (Source source = new Source(port);
                Tapeline first = Tapeline.run(port);
                Tapeline second = Tapeline.run(port);
                Consumer consumer =
                        new Consumer(Settings.Compression.NONE, first.consumerPort(), second.consumerPort())) {
            List<Stream> streams = IntStream.range(0, 200)
                    .mapToObj(i -> consumer.open(Source.SERVICE, "FAILOVER" + i + ".N"))
                    .toList();
            streams.forEach(Stream::image);
            List<Integer> marks = streams.stream().map(stream -> stream.events.size()).toList();
            Watch watch = Watch.start();
            first.kill();
            for (int i = 0; i < streams.size(); i++) {
                streams.get(i).stale(marks.get(i));
            }
            watch.print("server killed: the consumer has noticed");
            List<Event> images = new ArrayList<>();
            for (int i = 0; i < streams.size(); i++) {
                images.add(streams.get(i).events.awaitFrom(
                        marks.get(i), "an image", e -> e.isImage() && e.says(StreamState.OPEN, DataState.OK),
                        Duration.ofSeconds(30)));
            }
            watch.print("server killed: all items live at the other server");
            for (Event image : images) {
                assertEquals(Samples.quote(image.name()), image.payload());
            }
            int live = streams.get(0).events.size();
            source.update("FAILOVER0.N", 9, Samples.tick(9));
            assertEquals(Samples.tick(9), streams.get(0).updateFrom(live).payload());
            assertTrue(source.openStreams("FAILOVER0.N") <= 1, "the killed server still has the item open");
        }
    }
}
