package tapeline.ema;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A {@link Source} in a process of its own, which can be killed as its machine would be. Where two of them are
 * told to publish the same, both number it alike.
 */
final class SourceProcess implements AutoCloseable {
    private static final String READY = "ready";
    private static final String PUBLISHES = "publishes";
    private static final String REQUESTS = "requests ";

    private final Process process;
    private final Inbox<String> output = new Inbox<>("source process");

    SourceProcess(int port) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx512m",
                "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp",
                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"))));
        String logging = System.getProperty("java.util.logging.config.file");
        if (logging != null) {
            command.add("-Djava.util.logging.config.file=" + logging);
        }
        command.addAll(List.of(SourceProcess.class.getName(), String.valueOf(port)));
        try {
            process = new ProcessBuilder(command).redirectErrorStream(true).start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Thread reader = new Thread(this::read, "source process");
        reader.setDaemon(true);
        reader.start();
        output.await("its start", READY::equals);
    }

    private void read() {
        try (BufferedReader lines = process.inputReader(StandardCharsets.UTF_8)) {
            lines.lines().forEach(output::add);
        } catch (IOException | UncheckedIOException e) {
            // The process was killed: there is no more to read.
        }
    }

    private String ask(String line, String answer) {
        int before = output.size();
        say(line);
        return output.awaitFrom(before, "an answer to " + line, it -> it.startsWith(answer));
    }

    private void say(String line) {
        try {
            process.outputWriter(StandardCharsets.UTF_8).append(line).append('\n').flush();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Has it publish updates of items of these names since a moment. */
    void publish(String prefix, int items, int perSecond, long beginNs) {
        ask(prefix + " " + items + " " + perSecond + " " + beginNs, PUBLISHES);
    }

    /** How many requests it has had for items. */
    int requests() {
        return Integer.parseInt(ask("requests", REQUESTS).substring(REQUESTS.length()));
    }

    /** Waits until it has had so many requests for items. */
    void awaitRequests(int count) {
        long end = System.nanoTime() + Inbox.PATIENCE.toNanos();
        for (int had = requests(); had < count; had = requests()) {
            if (System.nanoTime() > end) {
                throw new AssertionError("requests: " + had + " of " + count);
            }
        }
    }

    /** Ends it at once, as the loss of its machine would. */
    void kill() {
        process.destroyForcibly();
    }

    @Override
    public void close() {
        kill();
    }

    /** The process: what it reads is a prefix, a number of items, a rate and a moment, or a question. */
    public static void main(String[] arguments) throws IOException {
        Source source = new Source(Integer.parseInt(arguments[0]));
        System.out.println(READY);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        List<Pace> paces = new ArrayList<>();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            if (words.length == 4) {
                paces.add(new Pace(
                        source, words[0], Integer.parseInt(words[1]), Integer.parseInt(words[2]),
                        Long.parseLong(words[3])));
                System.out.println(PUBLISHES);
            } else {
                System.out.println(REQUESTS + source.requests.size());
            }
        }
        // Whoever asked is gone.
        System.exit(0);
    }
}
