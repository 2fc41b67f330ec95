package tapeline.ema;

import java.util.Locale;

/** How long something took, printed for the reader of the test report. */
final class Watch {
    private final long start = System.nanoTime();

    static Watch start() {
        return new Watch();
    }

    double ms() {
        return (System.nanoTime() - start) / 1e6;
    }

    /** One line that the script behind the tests collects. */
    void print(String what) {
        System.out.println(String.format(Locale.ROOT, "took: %s: %.0f ms", what, ms()));
    }
}
