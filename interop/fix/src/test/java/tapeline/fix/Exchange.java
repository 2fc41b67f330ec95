package tapeline.fix;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** The exchange as a process of its own, from beside the program that the environment variable TAPELINE names. */
final class Exchange implements AutoCloseable {
    private final Process process;
    private final Inbox<String> log = new Inbox<>("exchange");
    private final Map<String, Integer> ports = new HashMap<>();

    private Exchange(Process process) {
        this.process = process;
        // Tests that are stopped by their time-out leave none behind.
        Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly));
    }

    /** Starts one with a configuration of this text, at ports that the system chooses. */
    static Exchange start(String configuration) {
        return start(configuration, "run");
    }

    /** Starts a gateway of one of this configuration, in a process of its own. */
    static Exchange startGateway(String configuration, int number) {
        return start(configuration, "gateway", "--number", Integer.toString(number));
    }

    private static Exchange start(String configuration, String... command) {
        try {
            Path directory = Files.createTempDirectory("tapeline-fix");
            Path file = directory.resolve("market.toml");
            Path ready = directory.resolve("ready");
            Files.writeString(file, configuration);
            List<String> words = new ArrayList<>(List.of(program()));
            words.addAll(List.of(command));
            words.addAll(List.of("--any-port", "--ready-file", ready.toString(), file.toString()));
            Exchange exchange = new Exchange(new ProcessBuilder(words).redirectErrorStream(true).start());
            exchange.listen();
            exchange.awaitReady(ready);
            Files.delete(ready);
            Files.delete(file);
            Files.delete(directory);
            return exchange;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String program() {
        String program = System.getenv("TAPELINE");
        if (program == null) {
            throw new IllegalStateException("set TAPELINE to the file of the program, or use interop/fix/run.sh");
        }
        return Path.of(program).resolveSibling("tapeline-exchange").toString();
    }

    private void listen() {
        Thread reader = new Thread(
                () -> {
                    try (BufferedReader lines = process.inputReader(StandardCharsets.UTF_8)) {
                        lines.lines().forEach(log::add);
                    } catch (IOException | UncheckedIOException e) {
                        // The process has ended: there is no more to read.
                    }
                },
                "log");
        reader.setDaemon(true);
        reader.start();
    }

    private void awaitReady(Path ready) throws IOException {
        long end = System.nanoTime() + Inbox.PATIENCE.toNanos();
        while (!Files.exists(ready) || !Files.readString(ready).endsWith("\n")) {
            if (hasEnded(5) || System.nanoTime() > end) {
                process.destroyForcibly();
                throw new AssertionError("the exchange does not start" + log.last());
            }
        }
        for (String line : Files.readAllLines(ready)) {
            String address = line.substring(line.indexOf('=') + 1);
            ports.put(
                    line.substring(0, line.indexOf('=')),
                    Integer.parseInt(address.substring(address.lastIndexOf(':') + 1)));
        }
    }

    private boolean hasEnded(long withinMs) {
        try {
            return process.waitFor(withinMs, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }

    /** Where FIX is spoken. */
    int port() {
        return port("fix");
    }

    /** Where trades are confirmed by FIX. */
    int postTradePort() {
        return port("post-trade");
    }

    private int port(String door) {
        Integer port = ports.get(door);
        if (port == null) {
            throw new AssertionError("the exchange has no door " + door + ": " + ports + log.last());
        }
        return port;
    }

    String log() {
        return "the log of the exchange" + log.last();
    }

    /** Ends it at once, as the loss of its machine would. */
    void kill() {
        process.destroyForcibly();
        if (!hasEnded(Inbox.PATIENCE.toMillis())) {
            throw new AssertionError("the exchange cannot be killed");
        }
    }

    /** Asks it to end, which it must do cleanly. */
    @Override
    public void close() {
        process.destroy();
        if (!hasEnded(Inbox.PATIENCE.toMillis())) {
            process.destroyForcibly();
            throw new AssertionError("the exchange does not end" + log.last());
        }
        if (process.exitValue() != 0) {
            throw new AssertionError("the exchange ended with status " + process.exitValue() + log.last());
        }
    }
}
