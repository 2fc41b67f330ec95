package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Arrays;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Round trips: the server measures how long an EMA consumer takes to answer on its login. */
@DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
class RoundTripTest {
    /** Long beside what a busy machine adds. */
    private static final int ONE_WAY_MS = 60;
    private static final int MEASURED = 15;

    @RegisterExtension
    final Logs logs = new Logs();

    private Tapeline tapeline(int source) {
        return logs.of(Tapeline.run(String.format(
                "[server]\nrtt-interval-ms = 100\n[admin]\nport = 0\n"
                        + "[[hub.source]]\nhosts = [\"127.0.0.1:%d\"]\n",
                source)));
    }

    @Test
    void theServerMeasuresWhatAPingOfTheSamePathTakes() throws IOException {
        int port = Ports.free();
        try (Source source = new Source(port);
                Tapeline tapeline = tapeline(port);
                Delay path = new Delay(tapeline.consumerPort(), ONE_WAY_MS);
                Consumer consumer = Consumer.answeringRoundTrips(path.port())) {
            Stream stream = consumer.open(Source.SERVICE, "FAR.N");
            stream.image();
            double pingMs = pingMs();
            tapeline.awaitLogged(1, "a mount answers round trips", "user=" + Consumer.USER, "took_us=");
            tapeline.awaitNumber("counters", "round_trips", MEASURED);
            double serverMs = tapeline.awaitNumber("mounts", "roundTripP50Us", 1) / 1e3;
            System.out.println(String.format(
                    Locale.ROOT, "took: round trip by the server %.1f ms, by a ping %.1f ms", serverMs, pingMs));
            assertTrue(pingMs >= 2 * ONE_WAY_MS, "ping: " + pingMs);
            assertTrue(Math.abs(serverMs - pingMs) < 0.2 * pingMs, serverMs + " ms, ping " + pingMs + " ms");
            source.update("FAR.N", 1, Samples.tick(1));
            assertEquals(Samples.tick(1), stream.events.await("the update", Event::isUpdate).payload());
        }
    }

    /** The median of pings over a path of the same kind. */
    private static double pingMs() throws IOException {
        try (ServerSocket echo = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Delay path = new Delay(echo.getLocalPort(), ONE_WAY_MS);
                Socket near = new Socket(InetAddress.getLoopbackAddress(), path.port());
                Socket far = echo.accept()) {
            near.setTcpNoDelay(true);
            far.setTcpNoDelay(true);
            double[] took = new double[MEASURED];
            for (int i = 0; i < MEASURED; i++) {
                Watch watch = Watch.start();
                near.getOutputStream().write(i);
                far.getOutputStream().write(far.getInputStream().read());
                assertEquals(i, near.getInputStream().read());
                took[i] = watch.ms();
            }
            Arrays.sort(took);
            return took[MEASURED / 2];
        }
    }

    @Test
    void whoDoesNotAnnounceItIsNotAsked() {
        int port = Ports.free();
        try (Source source = new Source(port);
                Tapeline tapeline = tapeline(port);
                Consumer asked = Consumer.answeringRoundTrips(tapeline.consumerPort());
                Consumer other = new Consumer(
                        new Consumer.User("other"), tapeline.consumerPort())) {
            other.open(Source.SERVICE, "NEAR.N").image();
            tapeline.awaitNumber("counters", "round_trips", MEASURED);
            tapeline.awaitNumber("mounts?filter=" + Consumer.USER, "roundTripUs", 0);
            String row = tapeline.view("mounts?filter=other");
            assertTrue(row.contains("\"other\""), row);
            assertFalse(row.matches("(?s).*\"roundTripUs\"\\s*:\\s*\\d.*"), row);
            assertEquals(0, tapeline.awaitNumber("counters", "round_trips_ignored", 0));
        }
    }
}
