package tapeline.fix;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import quickfix.Message;

/** Clients at gateways in processes of their own, of which one dies, or their market. */
class GatewayTest {
    /** How far the numbers of the exchange rise when another process goes on. */
    private static final int TAKEN_OVER = 5000;

    private Exchange exchange;
    private Exchange gateway;

    @RegisterExtension
    final Logs logs = new Logs(() -> exchange);

    @AfterEach
    void end() {
        gateway.close();
        exchange.close();
    }

    /** A market with two gateways, and a journal. */
    private static String market(Path journal) throws IOException {
        // The system chooses, and the market binds what it chose.
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            StringBuilder text = new StringBuilder("[gateways]\nmarkets = [\"127.0.0.1:" + free.getLocalPort() + "\"]\n"
                    + "failover-ms = 60000\ngrace-ms = 60000\n");
            for (int number = 1; number <= 2; number++) {
                text.append("[[gateways.apart]]\nnumber = " + number
                        + "\norders-port = 1\nrecovery-port = 2\nfix-port = 3\n");
            }
            text.append("[journal]\ndir = \"" + journal + "\"\nsegment-bytes = 2097152\n");
            return text + Market.open("ANN", "BOB");
        }
    }

    @Test
    void whoseGatewayIsKilledGoesOnAtAnotherOne(@TempDir Path journal) throws IOException {
        String market = market(journal);
        exchange = Exchange.start(market);
        gateway = Exchange.startGateway(market, 2);
        Exchange first = Exchange.startGateway(market, 1);
        try (Client ann = new Client(first.port(), "ANN", Market.PASSWORD).logOn();
                Client bob = new Client(exchange.port(), "BOB", Market.PASSWORD).logOn()) {
            Order order = ann.order(Request.sell("S1", 100).limit("10.00"));
            order.await("0/0");
            bob.order(Request.buy("B1", 30).limit("10.00")).await("F/2");
            order.await("0/0 F/1");
            int nextIn = ann.settle().nextIn();
            first.kill();
            ann.drop();
            // Nobody is there for the report of this one.
            bob.order(Request.buy("B2", 20).limit("10.00")).await("F/2");

            ann.at(gateway.port()).logOn();
            order.await("0/0 F/1 F/1");
            Message missed = order.last();
            assertEquals("Y", Fields.ofHeader(missed, 97), () -> Fields.readable(missed));
            int number = Integer.parseInt(Fields.ofHeader(missed, 34));
            assertTrue(number > nextIn + TAKEN_OVER, () -> Fields.readable(missed));
            bob.order(Request.buy("B3", 50).limit("10.00")).await("F/2");
            order.await("0/0 F/1 F/1 F/2");
            bob.logOut();
            ann.logOut();
        }
    }

    @Test
    void whoIsAtAGatewayStaysWhileTheMarketIsKilled(@TempDir Path journal) throws IOException {
        String market = market(journal);
        exchange = Exchange.start(market);
        gateway = Exchange.startGateway(market, 1);
        try (Client ann = new Client(gateway.port(), "ANN", Market.PASSWORD).logOn();
                Client bob = new Client(gateway.port(), "BOB", Market.PASSWORD).logOn()) {
            Order order = ann.order(Request.sell("S1", 100).limit("10.00"));
            order.await("0/0");
            exchange.kill();
            // It waits for the market.
            Order buys = bob.order(Request.buy("B1", 30).limit("10.00"));
            exchange = Exchange.start(market);
            buys.await("F/2");
            order.await("0/0 F/1");
            Message report = order.last();
            assertTrue(Integer.parseInt(Fields.ofHeader(report, 34)) < TAKEN_OVER, () -> Fields.readable(report));
            ann.send(Request.cancel("C1", order));
            order.await("0/0 F/1 4/4");
            bob.logOut();
            ann.logOut();
        }
    }
}
