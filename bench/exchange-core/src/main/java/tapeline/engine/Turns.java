package tapeline.engine;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * Runs a flow once for each line of the standard input, and answers with a line. For `turn` and `hash`: how many
 * nanoseconds it took, how many reports there were, and the SHA-256 of these where that was asked for. For
 * `paced RATE`, messages a second: how many nanoseconds after it was due a message was done, in the middle and at
 * the 99.9th percentile.
 */
public final class Turns {
    private Turns() {}

    public static void main(String[] arguments) throws Exception {
        Flow flow = Flow.of(Path.of(arguments[0]));
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            Book book = new Book(flow);
            System.gc();
            String[] words = line.split(" ");
            switch (words[0]) {
                case "paced" -> paced(flow, book, Long.parseLong(words[1]));
                default -> turn(book, words[0].equals("hash"));
            }
        }
    }

    private static void turn(Book book, boolean wantsHash) {
        long start = System.nanoTime();
        book.run();
        long nanoseconds = System.nanoTime() - start;
        String hash = wantsHash ? book.reports.hash() : "-";
        System.out.println(nanoseconds + " " + book.reports.count() + " " + hash);
    }

    private static void paced(Flow flow, Book book, long perSecond) {
        long[] late = new long[flow.count];
        long start = System.nanoTime();
        for (int i = 0; i < flow.count; i++) {
            long due = start + i * 1_000_000_000L / perSecond;
            while (System.nanoTime() < due) {
                Thread.onSpinWait();
            }
            book.take(i);
            late[i] = System.nanoTime() - due;
        }
        Arrays.sort(late);
        System.out.println(late[flow.count / 2] + " " + late[(int) (flow.count * 999L / 1000)] + " -");
    }
}
