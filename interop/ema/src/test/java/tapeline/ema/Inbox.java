package tapeline.ema;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/** What came in, in its order, for threads that wait for it. Nothing is ever taken out. */
final class Inbox<T> {
    static final Duration PATIENCE = Duration.ofSeconds(15);

    private final String owner;
    private final List<T> items = new ArrayList<>();

    Inbox(String owner) {
        this.owner = owner;
    }

    synchronized void add(T item) {
        items.add(item);
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
    T awaitFrom(int from, String what, Predicate<? super T> which) {
        return awaitFrom(from, what, which, PATIENCE);
    }

    T awaitFrom(int from, String what, Predicate<? super T> which, Duration patience) {
        return awaitFrom(from, 1, what, which, patience).get(0);
    }

    /** The first {@code count} that fit. */
    List<T> await(int count, String what, Predicate<? super T> which) {
        return awaitFrom(0, count, what, which, PATIENCE);
    }

    synchronized List<T> awaitFrom(
            int from, int count, String what, Predicate<? super T> which, Duration patience) {
        long end = System.nanoTime() + patience.toNanos();
        List<T> found = new ArrayList<>();
        int next = from;
        while (true) {
            for (; next < items.size() && found.size() < count; next++) {
                if (which.test(items.get(next))) {
                    found.add(items.get(next));
                }
            }
            if (found.size() == count) {
                return found;
            }
            long left = (end - System.nanoTime()) / 1_000_000;
            if (left <= 0) {
                throw new AssertionError(missing(from, count, found.size(), what, patience));
            }
            try {
                wait(left);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new AssertionError(owner + ": interrupted while waiting for " + what, e);
            }
        }
    }

    private String missing(int from, int count, int found, String what, Duration patience) {
        StringBuilder text = new StringBuilder()
                .append(owner).append(": ").append(what).append(": ").append(found).append(" of ").append(count)
                .append(" within ").append(patience.toMillis()).append(" ms; after entry ").append(from)
                .append(" came ").append(items.size() - from);
        int first = Math.max(from, items.size() - 20);
        for (T item : items.subList(first, items.size())) {
            String line = String.valueOf(item);
            text.append("\n  ").append(line, 0, Math.min(line.length(), 600));
        }
        return text.toString();
    }
}
