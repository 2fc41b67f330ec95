package tapeline.jsonbench;

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
 * {@code [-quick] [-gc] [-row REGEX] DICTIONARIES MESSAGES RESULT}: runs the rows and writes JMH's JSON to RESULT.
 *
 * <p>-quick: short iterations, for trying things out. -gc: also count allocated bytes.
 */
public final class Main {
    private Main() { }

    public static void main(String[] args) throws RunnerException, java.io.IOException {
        ArrayDeque<String> rest = new ArrayDeque<>(List.of(args));
        ChainedOptionsBuilder options = new OptionsBuilder();
        String row = "";
        while (!rest.isEmpty() && rest.peek().startsWith("-")) {
            switch (rest.remove()) {
                case "-quick" -> options.warmupIterations(4).warmupTime(TimeValue.milliseconds(500))
                    .measurementIterations(3).measurementTime(TimeValue.milliseconds(300));
                case "-gc" -> options.addProfiler(GCProfiler.class);
                case "-row" -> row = rest.remove();
                default -> usage();
            }
        }
        if (rest.size() != 3) usage();
        Path dictionaries = Path.of(rest.remove()).toAbsolutePath();
        Path messages = Path.of(rest.remove()).toAbsolutePath();
        Path result = Path.of(rest.remove()).toAbsolutePath();
        Files.createDirectories(result.getParent());
        new Runner(options.include("\\." + JsonBench.class.getSimpleName() + "\\." + row)
            .jvmArgsAppend("-D" + JsonBench.MESSAGES + "=" + messages, "-D" + JsonBench.DICTIONARIES + "=" + dictionaries)
            .shouldFailOnError(true)
            .resultFormat(ResultFormatType.JSON)
            .result(result.toString())
            .build()).run();
    }

    private static void usage() {
        System.err.println("usage: [-quick] [-gc] [-row REGEX] DICTIONARIES MESSAGES RESULT");
        System.exit(2);
    }
}
