package tapeline.ema;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** A relay whose connections are as long as those to a host far away: everything arrives so much later. */
final class Delay implements AutoCloseable {
    private record Piece(long dueNanos, byte[] bytes) {}

    private final ServerSocket listener;
    private final int target;
    private final long nanos;
    private final List<Socket> sockets = new ArrayList<>();

    /** To this port of this host; each way takes so long. */
    Delay(int target, int ms) {
        this.target = target;
        nanos = TimeUnit.MILLISECONDS.toNanos(ms);
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

    private static void start(Runnable body) {
        Thread thread = new Thread(body, "delay");
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
                relay(client, server);
                relay(server, client);
            }
        } catch (IOException e) {
            // Closed, or nobody is there: the client sees its connection end.
        }
    }

    private void relay(Socket from, Socket to) {
        BlockingQueue<Piece> way = new LinkedBlockingQueue<>();
        start(() -> read(from, way));
        start(() -> write(way, to));
    }

    private void read(Socket from, BlockingQueue<Piece> way) {
        byte[] buffer = new byte[65_536];
        try (from) {
            InputStream in = from.getInputStream();
            for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
                way.add(new Piece(System.nanoTime() + nanos, Arrays.copyOf(buffer, count)));
            }
        } catch (IOException e) {
            // As if it had ended.
        }
        way.add(new Piece(System.nanoTime() + nanos, new byte[0]));
    }

    /** An empty piece is the end. */
    private static void write(BlockingQueue<Piece> way, Socket to) {
        try (to) {
            OutputStream out = to.getOutputStream();
            for (Piece next = way.take(); next.bytes.length > 0; next = way.take()) {
                for (long left = next.dueNanos - System.nanoTime(); left > 0;
                        left = next.dueNanos - System.nanoTime()) {
                    LockSupport.parkNanos(left);
                }
                out.write(next.bytes);
            }
        } catch (IOException e) {
            // Its reader is gone; the other way ends when its own is.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
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
