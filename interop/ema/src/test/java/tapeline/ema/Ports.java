package tapeline.ema;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.HashSet;
import java.util.Set;

/** Ports for those that cannot say which one the system gave them, or that must come back at the same one. */
final class Ports {
    private static final Set<Integer> GIVEN = new HashSet<>();

    private Ports() {}

    /** A port nobody listens at, never given twice. */
    static synchronized int free() {
        try {
            while (true) {
                try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
                    if (GIVEN.add(socket.getLocalPort())) {
                        return socket.getLocalPort();
                    }
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
