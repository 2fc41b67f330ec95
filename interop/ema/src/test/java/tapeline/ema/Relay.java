package tapeline.ema;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;

/** A port of this host behind which is another one: what goes between them is its owner's matter. */
final class Relay implements AutoCloseable {
    /** What becomes of a connection: the one that came, and one to the target. */
    interface Pairs {
        void joined(Socket client, Socket server);
    }

    private final ServerSocket listener;
    private final int target;
    private final Pairs pairs;
    private final List<Socket> sockets = new ArrayList<>();

    Relay(int target, Pairs pairs) {
        this.target = target;
        this.pairs = pairs;
        try {
            listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        start(this::accept);
    }

    int port() {
        return listener.getLocalPort();
    }

    static void start(Runnable body) {
        Thread thread = new Thread(body, "relay");
        thread.setDaemon(true);
        thread.start();
    }

    private void accept() {
        try {
            while (true) {
                Socket client = listener.accept();
                Socket server = new Socket(InetAddress.getLoopbackAddress(), target);
                client.setTcpNoDelay(true);
                server.setTcpNoDelay(true);
                synchronized (this) {
                    sockets.add(client);
                    sockets.add(server);
                }
                pairs.joined(client, server);
            }
        } catch (IOException e) {
            // Closed, or nobody is there: the client sees its connection end.
        }
    }

    @Override
    public void close() {
        try {
            listener.close();
            synchronized (this) {
                for (Socket socket : sockets) {
                    socket.close();
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
