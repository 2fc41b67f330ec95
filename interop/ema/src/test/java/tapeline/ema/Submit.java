package tapeline.ema;

import com.refinitiv.ema.access.OmmInvalidUsageException;
import java.util.concurrent.locks.LockSupport;

/** How a provider that is faster than its connection waits for it. */
final class Submit {
    private static final long PAUSE_NS = 100_000;

    private Submit() {}

    /** Tries again as long as the SDK has no buffer left. */
    static void patiently(Runnable submit) {
        long end = System.nanoTime() + Inbox.PATIENCE.toNanos();
        while (true) {
            try {
                submit.run();
                return;
            } catch (OmmInvalidUsageException e) {
                if (!e.getMessage().contains("NO_BUFFERS") || System.nanoTime() > end) {
                    throw e;
                }
                LockSupport.parkNanos(PAUSE_NS);
            }
        }
    }
}
