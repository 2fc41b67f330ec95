package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.refinitiv.ema.access.DataType.DataTypes;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Enumerations in JSON, for two consumers at a time.
 *
 * <p>A class, and so a process, of its own: two consumers that decode RMTES at once have been seen to fail inside the
 * SDK, the more so with those of other tests beside them.
 */
@DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
class JsonDisplayTest {
    @RegisterExtension
    static final Market market = new Market();

    @RegisterExtension
    final Logs logs = new Logs();

    /**
     * Enumerations travel as their display text, which EMA looks up in its dictionary. Not so the arrows of a
     * downloaded one: see {@link JsonTest#asDownloaded}.
     */
    @Test
    void enumerationsAreFoundByTheirDisplay() {
        Value.Fields tick = Value.fields(
                Value.field(Samples.PRCTCK_1, new Value.Enum(1)), Value.field(Samples.CURRENCY, new Value.Enum(978)));
        Stream files = market.jsonConsumerWithFiles().open(Source.SERVICE, "ARROW.JSON");
        Stream download = market.jsonConsumer().open(Source.SERVICE, "ARROW.JSON");
        files.image();
        download.image();
        market.source().update("ARROW.JSON", 1, tick);
        assertEquals(tick, files.updateFrom(0).payload());
        Value.Fields got = (Value.Fields) download.updateFrom(0).payload();
        assertEquals(new Value.Enum(978), got.get(Samples.CURRENCY));
        assertEquals(new Value.Blank(DataTypes.ENUM), got.get(Samples.PRCTCK_1));
    }
}
