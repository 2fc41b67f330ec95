package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.refinitiv.ema.access.DataType.DataTypes;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Enumerations in JSON travel as their display text, which EMA looks up in its dictionary.
 *
 * <p>A class, and so a process, of its own, with one consumer at a time: two that look up displays at once have been
 * seen to fail inside the SDK, in its RMTES decoder.
 */
@DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
class JsonDisplayTest {
    @RegisterExtension
    static final Market market = new Market();

    @RegisterExtension
    final Logs logs = new Logs();

    private static final Value.Fields TICK = Value.fields(
            Value.field(Samples.PRCTCK_1, new Value.Enum(1)), Value.field(Samples.CURRENCY, new Value.Enum(978)));

    @Test
    void enumerationsAreFoundByTheirDisplay() {
        assertEquals(TICK, updateOf(market.jsonConsumerWithFiles(), "ARROW.FILES"));
    }

    /** Not so the arrows of a dictionary that was downloaded: see {@link JsonTest#asDownloaded}. */
    @Test
    void arrowsAreBlankWithADownloadedDictionary() {
        Value.Fields got = updateOf(market.jsonConsumer(), "ARROW.DOWNLOAD");
        assertEquals(new Value.Enum(978), got.get(Samples.CURRENCY));
        assertEquals(new Value.Blank(DataTypes.ENUM), got.get(Samples.PRCTCK_1));
    }

    private static Value.Fields updateOf(Consumer consumer, String name) {
        Stream stream = consumer.open(Source.SERVICE, name);
        stream.image();
        market.source().update(name, 1, TICK);
        return (Value.Fields) stream.updateFrom(0).payload();
    }
}
