package tapeline.fix;

import java.util.function.Supplier;
import org.junit.jupiter.api.extension.AfterTestExecutionCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Prints what the exchange logged if a test fails. */
record Logs(Supplier<Exchange> exchange) implements AfterTestExecutionCallback {
    @Override
    public void afterTestExecution(ExtensionContext context) {
        if (context.getExecutionException().isPresent()) {
            Exchange started = exchange.get();
            System.out.println(context.getDisplayName() + " failed; " + (started == null ? "" : started.log()));
        }
    }
}
