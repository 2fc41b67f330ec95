package tapeline.cluster;

import org.agrona.concurrent.BackoffIdleStrategy;
import org.agrona.concurrent.IdleStrategy;
import org.agrona.concurrent.YieldingIdleStrategy;

/** What a thread does that has nothing to do. */
enum Idle {
    /** Aeron's own choice: it spins, yields, then sleeps for up to a millisecond. */
    BACKOFF,
    /** It never sleeps, and lets others go first. */
    YIELD;

    static Idle of(String name) {
        return valueOf(name.toUpperCase(java.util.Locale.ROOT));
    }

    /** One for a thread: they have a state. */
    IdleStrategy strategy() {
        return switch (this) {
            case BACKOFF -> new BackoffIdleStrategy();
            case YIELD -> new YieldingIdleStrategy();
        };
    }
}
