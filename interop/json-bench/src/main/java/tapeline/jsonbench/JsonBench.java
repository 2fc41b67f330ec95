package tapeline.jsonbench;

import com.google.gson.JsonParser;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/** The rows of the JSON benchmark: each message in both directions. */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@State(Scope.Thread)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class JsonBench {
    /** The system properties that name the messages file and the folder of the dictionaries. */
    static final String MESSAGES = "jsonbench.messages";
    static final String DICTIONARIES = "jsonbench.dictionaries";

    @Param({"update_8", "image_66", "book_50", "directory", "status", "request", "request_view_10",
        "request_batch_20", "login", "post_8"})
    public String message;

    private Converter converter;
    private ByteBuffer rwf;
    private ByteBuffer frame;

    /** Both directions must be right before they are timed. */
    @Setup
    public void load() throws IOException {
        converter = new Converter(Path.of(System.getProperty(DICTIONARIES)));
        Messages loaded = Messages.load(Path.of(System.getProperty(MESSAGES))).get(message);
        rwf = ByteBuffer.wrap(loaded.rwf());
        frame = converter.frame(loaded.json());
        require("RWF", Arrays.equals(Converter.bytes(converter.toRwf(frame)), loaded.rwf()));
        String text = converter.text(converter.toJson(rwf));
        require("JSON", JsonParser.parseString(text).isJsonObject());
    }

    private void require(String what, boolean right) {
        if (!right) throw new IllegalStateException(message + ": wrong " + what);
    }

    @Benchmark
    public Object write() {
        return converter.toJson(rwf);
    }

    @Benchmark
    public Object read() {
        return converter.toRwf(frame);
    }
}
