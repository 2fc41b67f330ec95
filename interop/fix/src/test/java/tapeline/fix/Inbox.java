package tapeline.fix;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/** What came in, in its order, for threads that wait for it. Nothing is ever taken out. */
final class Inbox<T> {
    static final Duration PATIENCE = Duration.ofSeconds(30);

    private static final int SHOWN = 25;

    private final String owner;
    private final List<T> items = new ArrayList<>();
    private String broken;

    Inbox(String owner) {
        this.owner = owner;
    }

    synchronized void add(T item) {
        items.add(item);
        notifyAll();
    }

    /** What is wrong, so that nobody waits for what cannot come any more; nothing if all is well again. */
    synchronized void setBroken(String why) {
        broken = why;
        notifyAll();
    }

    synchronized int size() {
        return items.size();
    }

    synchronized List<T> all() {
        return List.copyOf(items);
    }

    List<T> all(Predicate<? super T> which) {
        return all().stream().filter(which).toList();
    }

    /** The first one that fits. */
    T await(String what, Predicate<? super T> which) {
        return awaitFrom(0, what, which);
    }

    /** The first one that fits at or after a position, a {@link #size()} of before. */
    synchronized T awaitFrom(int from, String what, Predicate<? super T> which) {
        int next = from;
        for (long end = System.nanoTime() + PATIENCE.toNanos(); ; pause(what, end)) {
            for (; next < items.size(); next++) {
                if (which.test(items.get(next))) {
                    return items.get(next);
                }
            }
        }
    }

    /** Waits until all that came is as wanted. */
    synchronized void awaitAll(String what, Predicate<List<T>> wanted) {
        long end = System.nanoTime() + PATIENCE.toNanos();
        while (!wanted.test(List.copyOf(items))) {
            pause(what, end);
        }
    }

    private synchronized void pause(String what, long end) {
        if (broken != null) {
            throw new AssertionError(owner + ": " + what + ": not any more: " + broken);
        }
        long left = (end - System.nanoTime()) / 1_000_000;
        if (left <= 0) {
            throw new AssertionError(owner + ": " + what + ": not within " + PATIENCE.toSeconds() + " s" + last());
        }
        try {
            wait(left);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(owner + ": interrupted while waiting for " + what, e);
        }
    }

    /** What came last, for the text of a failure. */
    synchronized String last() {
        StringBuilder text = new StringBuilder("; of ").append(items.size()).append(", the last:");
        for (T item : items.subList(Math.max(0, items.size() - SHOWN), items.size())) {
            text.append("\n  ").append(Fields.readable(item));
        }
        return text.toString();
    }
}
