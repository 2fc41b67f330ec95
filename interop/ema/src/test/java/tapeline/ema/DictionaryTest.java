package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.refinitiv.ema.rdm.DataDictionary;
import com.refinitiv.ema.rdm.DictionaryEntry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** A server with the dictionary of its installation. */
@DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
class DictionaryTest {
    private static final int FIELD = 31_000;

    @RegisterExtension
    final Logs logs = new Logs();

    @Test
    void consumersDecodeWithTheDictionaryOfTheServersFiles(@TempDir Path folder) throws IOException {
        Path fields = Files.copy(Dictionary.fields(), folder.resolve("fields"));
        Path enums = Files.copy(Dictionary.enums(), folder.resolve("enums"));
        String line = "X_INTEROP      \"Of this test only\"            %d  NULL        INTEGER          15         UINT                 8\n";
        Files.writeString(fields, line.formatted(FIELD), StandardOpenOption.APPEND);
        int port = Ports.free();
        Value.Fields tick = Value.fields(Value.field(FIELD, new Value.UInt(123_456_789_012L)));
        try (Source source = new Source(port);
                Tapeline tapeline = logs.of(Tapeline.serving(
                        "run", "--source", "127.0.0.1:" + port, "--ni-port", "0", "--rssl-port", "0", "--backbone",
                        "aeron:ipc", "--dictionary", fields.toString(), "--enums", enums.toString()));
                Consumer consumer = new Consumer(Settings.Compression.NONE, tapeline.consumerPort())) {
            Stream stream = consumer.open(Source.SERVICE, "LOCAL.N");
            stream.image();
            source.update("LOCAL.N", 1, tick);
            assertEquals(tick, stream.updateFrom(0).payload());
            DataDictionary downloaded = SessionTest.inParts(consumer);
            DictionaryEntry entry = downloaded.entry(FIELD);
            assertEquals("X_INTEROP", entry.acronym());
            assertEquals("Of this test only", entry.ddeAcronym());
            assertEquals(Dictionary.load().entries().size() + 1, downloaded.entries().size());
        }
    }
}
