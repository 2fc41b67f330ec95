package tapeline.wirebench;

import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.format.ResultFormatType;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.List;

/**
 * {@code [-quick] [-gc] [-row REGEX] MESSAGES RESULT}: runs the rows and writes JMH's JSON to RESULT.
 *
 * <p>-quick: one fork of short iterations, for trying things out. -gc: also count allocated bytes.
 */
public final class Main {
    private Main() { }

    public static void main(String[] args) throws RunnerException, java.io.IOException {
        ArrayDeque<String> rest = new ArrayDeque<>(List.of(args));
        ChainedOptionsBuilder options = new OptionsBuilder();
        String row = "";
        while (!rest.isEmpty() && rest.peek().startsWith("-")) {
            switch (rest.remove()) {
                case "-quick" -> options.forks(1).warmupIterations(3).warmupTime(TimeValue.milliseconds(300))
                    .measurementIterations(3).measurementTime(TimeValue.milliseconds(300));
                case "-gc" -> options.addProfiler(GCProfiler.class);
                case "-row" -> row = rest.remove();
                default -> usage();
            }
        }
        if (rest.size() != 2) usage();
        Path messages = Path.of(rest.remove()).toAbsolutePath();
        Path result = Path.of(rest.remove()).toAbsolutePath();
        Files.createDirectories(result.getParent());
        new Runner(options.include("\\." + WireBench.class.getSimpleName() + "\\." + row)
            .jvmArgsAppend("-D" + WireBench.MESSAGES + "=" + messages)
            .shouldFailOnError(true)
            .resultFormat(ResultFormatType.JSON)
            .result(result.toString())
            .build()).run();
    }

    private static void usage() {
        System.err.println("usage: [-quick] [-gc] [-row REGEX] MESSAGES RESULT");
        System.exit(2);
    }
}
