package tapeline.ema;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;

/** A relay whose client can be made one that reads nothing: what the server sends stays in the server. */
final class Valve implements AutoCloseable {
    /** So little fits in the socket that the rest is the server's matter. */
    private static final int RECEIVE_BUFFER_BYTES = 16_384;

    private final Relay relay;
    private boolean isShut;

    Valve(int target) {
        relay = new Relay(target, this::joined);
    }

    int port() {
        return relay.port();
    }

    /** From now on nothing that the server sends is read. */
    synchronized void shut() {
        isShut = true;
    }

    /** From now on it is read again. */
    synchronized void open() {
        isShut = false;
        notifyAll();
    }

    private synchronized void awaitOpen() throws InterruptedException {
        while (isShut) {
            wait();
        }
    }

    private void joined(Socket client, Socket server) {
        try {
            server.setReceiveBufferSize(RECEIVE_BUFFER_BYTES);
        } catch (IOException e) {
            // It has ended already, which its readers see.
        }
        Relay.start(() -> pass(client, server, false));
        Relay.start(() -> pass(server, client, true));
    }

    private void pass(Socket from, Socket to, boolean isHeld) {
        byte[] buffer = new byte[8_192];
        try (from;
                to) {
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
                if (isHeld) {
                    awaitOpen();
                }
                out.write(buffer, 0, count);
            }
        } catch (IOException e) {
            // One side is gone, so the other goes.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void close() {
        open();
        relay.close();
    }
}
