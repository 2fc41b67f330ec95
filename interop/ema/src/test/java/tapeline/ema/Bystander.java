package tapeline.ema;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * A consumer in a process of its own, with a source of its own, that measures how old its updates are: nothing of what
 * the JVM of the tests does is in its figures but that it takes cores.
 */
final class Bystander implements AutoCloseable {
    private static final String SERVICE = "TICKS";
    private static final int ITEMS = 10;
    private static final int UPDATES_PER_S = 1_000;

    private final Tapeline source;
    private final Logs logs;
    private Tapeline client;
    private Path file;

    /** How old updates were, in microseconds, sorted. */
    record Ages(long[] sortedUs) {
        @Override
        public String toString() {
            int count = sortedUs.length;
            return count == 0 ? "none"
                    : String.format(
                            Locale.ROOT, "p50 %d us, p99 %d us, worst %d us of %d", sortedUs[count / 2],
                            sortedUs[count * 99 / 100], sortedUs[count - 1], count);
        }
    }

    Bystander(Logs logs) {
        this.logs = logs;
        source = logs.of(Tapeline.serving(
                "source", "--listen", "127.0.0.1:0", "-S", SERVICE, "--rate", Integer.toString(UPDATES_PER_S), "-I", "0",
                "--stamp", "--stamp-rate", Integer.toString(UPDATES_PER_S)));
    }

    /** Where a hub finds its source. */
    int sourcePort() {
        return source.consumerPort();
    }

    /** Opens its items at this server. */
    void watch(int serverPort) {
        try {
            file = Files.createTempFile("bystander", ".csv");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        List<String> arguments = List.of(
                "client", "--server", "127.0.0.1:" + serverPort, "-S", SERVICE, "-I", "0", "-d", "1", "--latency-file",
                file.toString());
        Stream<String> items = IntStream.range(0, ITEMS).mapToObj(item -> "TICK" + item);
        client = logs.of(Tapeline.printing(Stream.concat(arguments.stream(), items).toArray(String[]::new)));
    }

    /** What time it is for it: that of the host's monotonic clock, which both have. */
    static long nowUs() {
        return System.nanoTime() / 1_000;
    }

    /** Of what came between these, as far as it is in its file. */
    Ages between(long fromUs, long untilUs) {
        try (Stream<String> lines = Files.lines(file)) {
            return new Ages(lines.skip(1)
                    .map(line -> line.split(","))
                    .filter(cells -> cells.length == 3)
                    .filter(cells -> fromUs <= Long.parseLong(cells[0]) && Long.parseLong(cells[0]) < untilUs)
                    .mapToLong(cells -> Long.parseLong(cells[2]))
                    .sorted()
                    .toArray());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Ends the client, so that all is in its file. */
    void end() {
        client.close();
    }

    @Override
    public void close() throws IOException {
        end();
        source.close();
        Files.deleteIfExists(file);
    }
}
