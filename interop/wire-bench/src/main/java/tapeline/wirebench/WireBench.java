package tapeline.wirebench;

import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** The rows of the wire benchmark; their names are the ones of the Rust side. */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@State(Scope.Thread)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(2)
public class WireBench {
    /** The system property that names the messages file. */
    static final String MESSAGES = "wirebench.messages";
    private static final int OUTPUT_BYTES = 65_536;

    private final Decoder decoder = new Decoder();
    private final Encoder encoder = new Encoder();
    /** Direct buffers, as ETA's transport hands them to applications; heap buffers are a little slower. */
    private final ByteBuffer output = ByteBuffer.allocateDirect(OUTPUT_BYTES);

    private Message update8;
    private Message update30;
    private Message refresh120;
    private Message book50;
    private Message book50Set;

    private ByteBuffer update8Bytes;
    private ByteBuffer update8KeyBytes;
    private ByteBuffer update30Bytes;
    private ByteBuffer refresh120Bytes;
    private ByteBuffer book50Bytes;
    private ByteBuffer book50SetBytes;

    @Setup
    public void load() throws IOException {
        Map<String, Message> messages = Message.load(Path.of(System.getProperty(MESSAGES)));
        for (Message message : messages.values()) decoder.learn(message);
        for (Message message : messages.values()) verify(message);
        update8 = messages.get("update_8");
        update30 = messages.get("update_30");
        refresh120 = messages.get("refresh_120");
        book50 = messages.get("book_50");
        book50Set = messages.get("book_50_set");
        update8Bytes = direct(update8.bytes);
        update8KeyBytes = direct(messages.get("update_8_key").bytes);
        update30Bytes = direct(update30.bytes);
        refresh120Bytes = direct(refresh120.bytes);
        book50Bytes = direct(book50.bytes);
        book50SetBytes = direct(book50Set.bytes);
    }

    /** Both directions must be right before they are timed. */
    private void verify(Message message) {
        ByteBuffer bytes = direct(message.bytes);
        require(message, "header", decoder.header(bytes) == message.headerChecksum);
        require(message, "decoded", decoder.message(bytes) == message.checksum);
        int length = encoder.message(message, output);
        require(message, "encoded", output.flip().equals(ByteBuffer.wrap(message.bytes)) && length == message.bytes.length);
    }

    private static ByteBuffer direct(byte[] bytes) {
        return ByteBuffer.allocateDirect(bytes.length).put(bytes).flip();
    }

    private static void require(Message message, String what, boolean right) {
        if (!right) throw new IllegalStateException(message.name + ": wrong when " + what);
    }

    @Benchmark
    public long header() {
        return decoder.header(update8Bytes);
    }

    @Benchmark
    public long header_key() {
        return decoder.header(update8KeyBytes);
    }

    @Benchmark
    public long decode_update_8() {
        return decoder.message(update8Bytes);
    }

    @Benchmark
    public long decode_update_30() {
        return decoder.message(update30Bytes);
    }

    @Benchmark
    public long decode_refresh_120() {
        return decoder.message(refresh120Bytes);
    }

    @Benchmark
    public long decode_book_50() {
        return decoder.message(book50Bytes);
    }

    @Benchmark
    public long decode_book_50_set() {
        return decoder.message(book50SetBytes);
    }

    @Benchmark
    public int encode_update_8() {
        return encoder.message(update8, output);
    }

    @Benchmark
    public int encode_update_30() {
        return encoder.message(update30, output);
    }

    @Benchmark
    public int encode_refresh_120() {
        return encoder.message(refresh120, output);
    }

    @Benchmark
    public int encode_book_50() {
        return encoder.message(book50, output);
    }

    @Benchmark
    public int encode_book_50_set() {
        return encoder.message(book50Set, output);
    }
}
