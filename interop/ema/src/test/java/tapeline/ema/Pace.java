package tapeline.ema;

import java.util.concurrent.locks.LockSupport;

/**
 * Updates of many items at a steady rate, item after item, those of each numbered from 1 on. What is late is
 * made up for, so that two that began at the same time are level.
 */
final class Pace implements AutoCloseable {
    private static final long TURN_NS = 1_000_000;

    private final Thread thread;
    private volatile boolean isOver;
    private volatile RuntimeException failure;

    Pace(Source source, String prefix, int items, int perSecond) {
        this(source, prefix, items, perSecond, System.nanoTime());
    }

    /** The same since a moment, which may be another process's: on Linux all have this clock. */
    Pace(Source source, String prefix, int items, int perSecond, long beginNs) {
        thread = new Thread(() -> publish(source, prefix, items, perSecond, beginNs), "pace");
        thread.setDaemon(true);
        thread.start();
    }

    private void publish(Source source, String prefix, int items, int perSecond, long beginNs) {
        long sent = 0;
        try {
            while (!isOver) {
                long due = (System.nanoTime() - beginNs) * perSecond / 1_000_000_000;
                for (; sent < due && !isOver; sent++) {
                    long number = sent / items + 1;
                    source.update(Watchlist.name(prefix, (int) (sent % items)), number, Samples.tick((int) number));
                }
                LockSupport.parkNanos(TURN_NS);
            }
        } catch (RuntimeException e) {
            failure = e;
        }
    }

    /** No more is published. */
    @Override
    public void close() {
        isOver = true;
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
        if (failure != null) {
            throw new AssertionError("could not publish", failure);
        }
    }
}
