package tapeline.ema;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.AfterTestExecutionCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * An EMA provider, Tapeline behind it and the consumers of a test.
 *
 * <p>In a static field it is one for all tests of the class, else every test has its own.
 *
 * <p>With TAPELINE_DIRECT=1 in the environment the consumers connect straight to the provider: the
 * tests that make sense then show whether a failure is Tapeline's or the test's own.
 */
final class Market
        implements BeforeAllCallback, BeforeEachCallback, AfterTestExecutionCallback, AfterEachCallback,
                AfterAllCallback {
    static final boolean DIRECT = "1".equals(System.getenv("TAPELINE_DIRECT"));
    static final String NEEDS_TAPELINE = "TAPELINE_DIRECT";

    private final List<Consumer> consumers = new ArrayList<>();
    private int sourcePort;
    private Source source;
    private Tapeline tapeline;
    private boolean ofClass;

    @Override
    public void beforeAll(ExtensionContext context) {
        ofClass = true;
        start();
    }

    @Override
    public void beforeEach(ExtensionContext context) {
        if (!ofClass) {
            start();
        }
    }

    @Override
    public void afterTestExecution(ExtensionContext context) {
        if (context.getExecutionException().isPresent()) {
            printLog(context.getDisplayName());
        }
        closeConsumers();
    }

    @Override
    public void afterEach(ExtensionContext context) {
        if (!ofClass) {
            stop();
        }
    }

    @Override
    public void afterAll(ExtensionContext context) {
        stop();
    }

    private void start() {
        sourcePort = Ports.free();
        startSource();
        if (!DIRECT) {
            tapeline = Tapeline.run(sourcePort);
        }
    }

    private void stop() {
        closeConsumers();
        if (source != null) {
            source.close();
        }
        if (tapeline != null) {
            tapeline.close();
        }
    }

    private void printLog(String test) {
        if (tapeline != null) {
            System.out.println(test + " failed");
            System.out.println(tapeline.log());
        }
    }

    private void closeConsumers() {
        consumers.forEach(Consumer::close);
        consumers.clear();
    }

    Source source() {
        return source;
    }

    /** Where a consumer connects. */
    int port() {
        return DIRECT ? sourcePort : tapeline.consumerPort();
    }

    /** A consumer that speaks JSON and lives as long as the test. */
    Consumer jsonConsumer() {
        return keep(Consumer.overJson(tapeline.webSocketPort()));
    }

    /** The same with its dictionary from files. */
    Consumer jsonConsumerWithFiles() {
        return keep(Consumer.overJsonWithFiles(tapeline.webSocketPort()));
    }

    /** A consumer that lives as long as the test. */
    Consumer consumer() {
        return keep(new Consumer(Settings.Compression.NONE, port()));
    }

    Consumer consumerOfManyItems() {
        return keep(Consumer.ofManyItems(port()));
    }

    private Consumer keep(Consumer consumer) {
        consumers.add(consumer);
        return consumer;
    }

    /** Starts the source again, at the port where it was. */
    void startSource() {
        source = new Source(sourcePort);
    }

    void killSource() {
        source.close();
        source = null;
    }
}
