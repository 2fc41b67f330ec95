package tapeline.ema;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.extension.AfterTestExecutionCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Prints what the programs of a test logged if the test fails. */
final class Logs implements AfterTestExecutionCallback {
    private final List<Tapeline> programs = new ArrayList<>();

    Tapeline of(Tapeline program) {
        programs.add(program);
        return program;
    }

    @Override
    public void afterTestExecution(ExtensionContext context) {
        if (context.getExecutionException().isPresent()) {
            System.out.println(context.getDisplayName() + " failed");
            programs.forEach(program -> System.out.println(program.log()));
        }
        programs.clear();
    }
}
