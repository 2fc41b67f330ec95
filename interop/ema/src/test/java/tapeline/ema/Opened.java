package tapeline.ema;

import java.util.ArrayDeque;
import java.util.Deque;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** What a test has opened, which is closed when it is over, the last one first. */
final class Opened implements AfterEachCallback {
    private final Deque<AutoCloseable> all = new ArrayDeque<>();

    <T extends AutoCloseable> T keep(T each) {
        all.push(each);
        return each;
    }

    /** Closes all, for a test that has more to do afterwards. */
    void close() throws Exception {
        while (!all.isEmpty()) {
            all.pop().close();
        }
    }

    @Override
    public void afterEach(ExtensionContext context) throws Exception {
        close();
    }
}
