package tapeline.fix;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import quickfix.Message;

/** An exchange that keeps a journal is killed and started again. */
class RestartTest {
    /** How far the numbers of the exchange rise when another process goes on. */
    private static final int TAKEN_OVER = 5000;

    private Exchange exchange;

    @RegisterExtension
    final Logs logs = new Logs(() -> exchange);

    @Test
    void ordersAndSessionsGoOnBehindARestart(@TempDir Path journal) {
        String market = "[journal]\ndir = \"" + journal + "\"\nsegment-bytes = 2097152\n" + Market.open("ANN", "BOB");
        exchange = Exchange.start(market);
        try (Client ann = new Client(exchange.port(), "ANN", Market.PASSWORD).logOn();
                Client bob = new Client(exchange.port(), "BOB", Market.PASSWORD).logOn()) {
            Order order = ann.order(Request.sell("S1", 100).limit("10.00"));
            order.await("0/0");
            bob.order(Request.buy("B1", 30).limit("10.00")).await("F/2");
            order.await("0/0 F/1");
            int nextIn = ann.settle().nextIn();
            ann.drop();
            // Nobody is there for the report of this one.
            bob.order(Request.buy("B2", 20).limit("10.00")).await("F/2");
            bob.settle().drop();
            exchange.kill();
            exchange = Exchange.start(market);

            ann.at(exchange.port()).logOn();
            order.await("0/0 F/1 F/1");
            Message missed = order.last();
            assertEquals("Y", Fields.ofHeader(missed, 97), () -> Fields.readable(missed));
            int number = Integer.parseInt(Fields.ofHeader(missed, 34));
            assertTrue(number > nextIn + TAKEN_OVER, () -> Fields.readable(missed));
            bob.at(exchange.port()).logOn();
            bob.order(Request.buy("B3", 50).limit("10.00")).await("F/2");
            order.await("0/0 F/1 F/1 F/2");
            ann.logOut();
        } finally {
            exchange.close();
        }
    }
}
