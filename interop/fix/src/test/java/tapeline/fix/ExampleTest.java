package tapeline.fix;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The program of the documentation. */
class ExampleTest {
    private static final Path PROGRAM = Path.of("..", "..", "docs", "fix-client", "SendOrder.java");

    private Exchange exchange;

    @RegisterExtension
    final Logs logs = new Logs(() -> exchange);

    @Test
    void theProgramOfTheDocumentationSendsAnOrderAndEndsWhenItIsFilled() throws IOException, InterruptedException {
        exchange = Exchange.start(Market.open("ANN", "BOB"));
        try (Client ann = new Client(exchange.port(), "ANN", Market.PASSWORD).logOn()) {
            Order offer = ann.order(Request.sell("S1", 100).limit("99.95"));
            offer.await("0/0");
            Path output = Files.createTempFile("tapeline-fix", ".txt");
            Process program = new ProcessBuilder(
                            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                            "-cp", System.getProperty("java.class.path"), PROGRAM.toString(),
                            "127.0.0.1:" + exchange.port(), "BOB", Market.PASSWORD, "buy", "100", "99.95")
                    .redirectErrorStream(true)
                    .redirectOutput(output.toFile())
                    .start();
            boolean hasEnded = program.waitFor(Inbox.PATIENCE.toSeconds(), TimeUnit.SECONDS);
            program.destroyForcibly();
            String text = Files.readString(output);
            Files.delete(output);
            assertTrue(hasEnded, text);
            assertEquals(0, program.exitValue(), text);
            assertTrue(text.contains("|150=F|"), text);
            offer.await("0/0 F/2");
        } finally {
            exchange.close();
        }
    }
}
