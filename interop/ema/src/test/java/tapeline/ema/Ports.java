package tapeline.ema;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Ports for those that cannot say which one the system gave them, or that must come back at the same one.
 *
 * <p>They are below the range from which Linux takes the ports of outgoing connections: none of those takes
 * a port while its owner is away.
 */
final class Ports {
    private static final int FIRST = 15_000;
    private static final int COUNT = 17_000;

    private static int next = ThreadLocalRandom.current().nextInt(COUNT);

    private Ports() {}

    /** A port nobody listens at, never given twice by this process. */
    static synchronized int free() {
        for (int tries = 0; tries < COUNT; tries++) {
            int port = FIRST + next;
            next = (next + 1) % COUNT;
            try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
                return socket.getLocalPort();
            } catch (IOException e) {
                // Somebody has it.
            }
        }
        throw new IllegalStateException("no port is free");
    }
}
