package tapeline.fix;

import java.util.function.Supplier;
import org.junit.jupiter.api.extension.AfterTestExecutionCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Prints what the exchange logged if a test fails. */
record Logs(Supplier<Exchange> exchange) implements AfterTestExecutionCallback {
    @Override
    public void afterTestExecution(ExtensionContext context) {
        if (context.getExecutionException().isPresent()) {
            System.out.println(context.getDisplayName() + " failed; " + exchange.get().log());
        }
    }
}
