package tapeline.ema;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The program under test as a process of its own. The environment variable TAPELINE names its file. */
final class Tapeline implements AutoCloseable {
    private static final int LOG_LINES = 400;
    private static final Duration START = Duration.ofSeconds(20);
    private static final HttpClient HTTP = HttpClient.newHttpClient();

    private final String what;
    private final Process process;
    private final Deque<String> log = new ArrayDeque<>();
    private final Inbox<String> output;
    private final Thread reader;
    private final Thread errors;
    private final Map<String, Integer> ports = new HashMap<>();

    private Tapeline(List<String> arguments) {
        this(program(), arguments);
    }

    private Tapeline(String program, List<String> arguments) {
        what = Path.of(program).getFileName() + " " + String.join(" ", arguments);
        output = new Inbox<>(what);
        List<String> command = new ArrayList<>();
        command.add(program);
        command.addAll(arguments);
        try {
            process = new ProcessBuilder(command).start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        errors = new Thread(() -> read(process.errorReader(StandardCharsets.UTF_8), this::remember), "log");
        errors.setDaemon(true);
        errors.start();
        reader = new Thread(() -> read(process.inputReader(StandardCharsets.UTF_8), this::printed), "output");
        reader.setDaemon(true);
        reader.start();
    }

    static String program() {
        String program = System.getenv("TAPELINE");
        if (program == null) {
            throw new IllegalStateException("set TAPELINE to the file of the program, or use interop/ema/run.sh");
        }
        return program;
    }

    /** A program that says in its ready file where it listens. */
    static Tapeline serving(String... arguments) {
        return started(program(), arguments);
    }

    /** The exchange, whose program lies beside the other one. */
    static Tapeline exchange(String... arguments) {
        return started(Path.of(program()).resolveSibling("tapeline-exchange").toString(), arguments);
    }

    private static Tapeline started(String file, String... arguments) {
        try {
            Path directory = Files.createTempDirectory("tapeline-ema");
            Path ready = directory.resolve("ready");
            List<String> all = new ArrayList<>(List.of(arguments));
            all.add("--ready-file");
            all.add(ready.toString());
            Tapeline program = new Tapeline(file, all);
            program.awaitReady(ready);
            Files.delete(ready);
            Files.delete(directory);
            return program;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A program of which the output counts. */
    static Tapeline printing(String... arguments) {
        return new Tapeline(List.of(arguments));
    }

    /** Hub and server in one process, connected to these providers. */
    static Tapeline run(int... sources) {
        List<String> arguments = new ArrayList<>(List.of("run"));
        for (int source : sources) {
            arguments.add("--source");
            arguments.add("127.0.0.1:" + source);
        }
        arguments.addAll(List.of("--ni-port", "0", "--rssl-port", "0", "--ws-port", "0", "--backbone", "aeron:ipc"));
        return serving(arguments.toArray(String[]::new));
    }

    /** The same with a policy in force, whose file the test may edit. */
    static Tapeline entitled(Path policy, int... sources) {
        List<String> arguments = new ArrayList<>(List.of("run", "--policy", policy.toString()));
        for (int source : sources) {
            arguments.add("--source");
            arguments.add("127.0.0.1:" + source);
        }
        arguments.addAll(List.of("--ni-port", "0", "--rssl-port", "0", "--ws-port", "0", "--backbone", "aeron:ipc"));
        return serving(arguments.toArray(String[]::new));
    }

    /** The same with a configuration file of this text. */
    static Tapeline run(String configuration) {
        try {
            Path file = Files.createTempFile("tapeline-ema", ".toml");
            Files.writeString(file, configuration);
            Tapeline program = serving(
                    "run", "--config", file.toString(), "--ni-port", "0", "--rssl-port", "0", "--backbone", "aeron:ipc");
            Files.delete(file);
            return program;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void awaitReady(Path ready) throws IOException {
        long end = System.nanoTime() + START.toNanos();
        while (!Files.exists(ready) || !Files.readString(ready).endsWith("\n")) {
            if (!process.isAlive() || System.nanoTime() > end) {
                String why = process.isAlive() ? "not ready" : "ended with status " + process.exitValue();
                kill();
                throw new AssertionError(what + ": " + why + "\n" + log());
            }
            Thread.onSpinWait();
            pause();
        }
        for (String line : Files.readAllLines(ready)) {
            int equals = line.indexOf('=');
            int colon = line.lastIndexOf(':');
            ports.put(line.substring(0, equals), Integer.parseInt(line.substring(colon + 1)));
        }
    }

    /** A file cannot be waited for without looking again and again. */
    private void pause() {
        try {
            process.waitFor(5, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(what + ": interrupted", e);
        }
    }

    /** Where consumers connect. */
    int consumerPort() {
        return port("rssl");
    }

    /** Where consumers connect that speak JSON. */
    int webSocketPort() {
        return port("ws");
    }

    /** Where consumers connect over TLS. */
    int encryptedPort() {
        return port("rssl-tls");
    }

    /** Where consumers connect over TLS that speak WebSocket. */
    int encryptedWebSocketPort() {
        return port("wss");
    }

    /** Where non-interactive providers connect. */
    int providerPort() {
        return port("ni");
    }

    /** Where non-interactive providers connect over TLS. */
    int encryptedProviderPort() {
        return port("ni-tls");
    }

    /** Where orders come, by the native gateway. */
    int ordersPort() {
        return port("orders");
    }

    /** Where it can be looked at. */
    int adminPort() {
        return port("admin");
    }

    /** A view of its admin port, as JSON. */
    String view(String name) {
        return get(URI.create("http://127.0.0.1:" + port("admin") + "/v1/" + name));
    }

    private String get(URI uri) {
        try {
            return HTTP.send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString()).body();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(what + ": interrupted", e);
        }
    }

    /** Waits until a number of a view of its admin port, the first by that name, is at least this. */
    long awaitNumber(String view, String name, long least) {
        Pattern pattern = Pattern.compile("\"" + name + "\"\\s*:\\s*(\\d+)");
        long end = System.nanoTime() + Inbox.PATIENCE.toNanos();
        while (true) {
            String all = view(view);
            Matcher found = pattern.matcher(all);
            if (found.find() && Long.parseLong(found.group(1)) >= least) {
                return Long.parseLong(found.group(1));
            }
            if (System.nanoTime() > end) {
                throw new AssertionError(what + ": no " + name + " of " + least + " in " + all + "\n" + log());
            }
            pause();
        }
    }

    /** The sum of a count over all parts of the process, as its admin port has it. */
    long counted(String series) {
        URI uri = URI.create("http://127.0.0.1:" + port("admin") + "/metrics");
        String all = get(uri);
        if (!all.contains("\n" + series)) {
            throw new AssertionError(what + ": no " + series + " in\n" + all);
        }
        return all.lines().filter(line -> line.startsWith(series))
                .mapToLong(line -> (long) Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1))).sum();
    }

    /** Waits until such a count is this. */
    void awaitCounted(String series, long count) {
        long end = System.nanoTime() + Inbox.PATIENCE.toNanos();
        for (long now = counted(series); now != count; now = counted(series)) {
            if (System.nanoTime() > end) {
                throw new AssertionError(what + ": " + series + " is " + now + " and not " + count + "\n" + log());
            }
            pause();
        }
    }

    private int port(String name) {
        Integer port = ports.get(name);
        if (port == null) {
            throw new AssertionError(what + ": no " + name + " in its ready file: " + ports);
        }
        return port;
    }

    /** The lines of its standard output. */
    Inbox<String> output() {
        return output;
    }

    String log() {
        synchronized (log) {
            return what + ", its log:\n  " + String.join("\n  ", log);
        }
    }

    /** Waits for a line of its log that has all of these in it; how many lines do. */
    int awaitLogged(int count, String... parts) {
        long end = System.nanoTime() + Inbox.PATIENCE.toNanos();
        synchronized (log) {
            while (true) {
                int found = 0;
                for (String line : log) {
                    found += List.of(parts).stream().allMatch(line::contains) ? 1 : 0;
                }
                if (found >= count) {
                    return found;
                }
                long left = (end - System.nanoTime()) / 1_000_000;
                if (left <= 0) {
                    throw new AssertionError(String.join(", ", parts) + ": " + found + " of " + count + "\n" + log());
                }
                try {
                    log.wait(left);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    throw new AssertionError(what + ": interrupted", e);
                }
            }
        }
    }

    private void remember(String line) {
        synchronized (log) {
            log.addLast(line);
            log.notifyAll();
            if (log.size() > LOG_LINES) {
                log.removeFirst();
            }
        }
    }

    private void printed(String line) {
        output.add(line);
        remember(line);
    }

    private static void read(BufferedReader from, java.util.function.Consumer<String> each) {
        try (from) {
            from.lines().forEach(each);
        } catch (IOException | UncheckedIOException e) {
            // The process was killed: there is no more to read.
        }
    }

    /** Waits for it to end by itself. */
    int exit() {
        return exit(Inbox.PATIENCE);
    }

    /** The same for one that takes its time. */
    int exit(Duration patience) {
        try {
            if (!process.waitFor(patience.toMillis(), TimeUnit.MILLISECONDS)) {
                kill();
                throw new AssertionError(what + ": did not end\n" + log());
            }
            reader.join();
            errors.join();
            return process.exitValue();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(what + ": interrupted", e);
        }
    }

    /** Ends it at once, as the loss of its machine would. */
    void kill() {
        process.destroyForcibly();
    }

    /** Asks it to end, which it must do cleanly. */
    @Override
    public void close() {
        if (!process.isAlive()) {
            return;
        }
        process.destroy();
        int status = exit();
        if (status != 0) {
            throw new AssertionError(what + ": status " + status + " after SIGTERM\n" + log());
        }
    }
}
