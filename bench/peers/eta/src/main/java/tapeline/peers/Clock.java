package tapeline.peers;

import java.util.concurrent.locks.LockSupport;

/** The clock that all processes of the comparison share, and how to wait for it. */
final class Clock {
    /** Longer than this the thread does not sleep, so that it reads its sockets now and then. */
    private static final long LONGEST_NANOS = 1_000_000;

    private final boolean spins;

    Clock(boolean spins) {
        this.spins = spins;
    }

    /** CLOCK_MONOTONIC on Linux. */
    static long now() {
        return System.nanoTime();
    }

    /** Waits for a moment, or for a part of the time until then. */
    void waitFor(long moment) {
        if (spins) {
            Thread.onSpinWait();
            return;
        }
        long nanos = Math.min(moment - now(), LONGEST_NANOS);
        if (nanos > 0) {
            LockSupport.parkNanos(nanos);
        }
    }
}
