package tapeline.ema;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** A relay for one connection that keeps what the server sent: what the SDK reports of a wire is what it was asked for. */
final class Tap implements AutoCloseable {
    private static final int KEPT_BYTES = 4 << 20;
    private static final int COMPRESSED = 0x04;
    private static final int ACK_FRAGMENT_BYTES = 10;
    private static final int ACK_COMPRESSION = 16;

    private final ServerSocket listener;
    private final int target;
    private final ByteArrayOutputStream fromServer = new ByteArrayOutputStream();
    private final List<Socket> sockets = new ArrayList<>();

    Tap(int target) {
        this.target = target;
        try {
            listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        start(this::accept);
    }

    int port() {
        return listener.getLocalPort();
    }

    private static void start(Runnable body) {
        Thread thread = new Thread(body, "tap");
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
                    fromServer.reset();
                }
                start(() -> relay(client, server, false));
                start(() -> relay(server, client, true));
            }
        } catch (IOException e) {
            // Closed, or the server is not there: the client sees its connection end.
        }
    }

    private void relay(Socket from, Socket to, boolean keep) {
        byte[] buffer = new byte[65_536];
        try (from;
                to) {
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
                if (keep) {
                    keep(buffer, count);
                }
                out.write(buffer, 0, count);
            }
        } catch (IOException e) {
            // One side is gone, so the other goes.
        }
    }

    private synchronized void keep(byte[] buffer, int count) {
        fromServer.write(buffer, 0, Math.min(count, KEPT_BYTES - fromServer.size()));
    }

    /** One frame of the server. */
    record Frame(int length, boolean compressed) {}

    private synchronized ByteBuffer bytes() {
        return ByteBuffer.wrap(fromServer.toByteArray());
    }

    /** The compression of the last connection as the server granted it: 0 none, 1 zlib, 2 LZ4. */
    int compression() {
        return bytes().getShort(ACK_COMPRESSION);
    }

    /** The fragment size of the last connection as the server told it. */
    int fragmentBytes() {
        return Short.toUnsignedInt(bytes().getShort(ACK_FRAGMENT_BYTES));
    }

    /** What the server sent after it had accepted the last connection. */
    List<Frame> frames() {
        ByteBuffer bytes = bytes();
        List<Frame> frames = new ArrayList<>();
        int at = 0;
        while (at + 3 <= bytes.limit()) {
            int length = Short.toUnsignedInt(bytes.getShort(at));
            if (at > 0) {
                frames.add(new Frame(length, (bytes.get(at + 2) & COMPRESSED) != 0));
            }
            at += length;
        }
        return frames;
    }

    /** Whether the server has sent these bytes on the last connection. */
    boolean carried(String text) {
        byte[] wanted = text.getBytes(StandardCharsets.US_ASCII);
        byte[] all;
        synchronized (this) {
            all = fromServer.toByteArray();
        }
        for (int at = 0; at + wanted.length <= all.length; at++) {
            if (Arrays.equals(wanted, 0, wanted.length, all, at, at + wanted.length)) {
                return true;
            }
        }
        return false;
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
