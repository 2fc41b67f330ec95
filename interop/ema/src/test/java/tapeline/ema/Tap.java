package tapeline.ema;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
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

    private final Relay relay;
    private final ByteArrayOutputStream fromServer = new ByteArrayOutputStream();

    Tap(int target) {
        relay = new Relay(target, this::joined);
    }

    int port() {
        return relay.port();
    }

    private void joined(Socket client, Socket server) {
        synchronized (this) {
            fromServer.reset();
        }
        Relay.start(() -> pass(client, server, false));
        Relay.start(() -> pass(server, client, true));
    }

    private void pass(Socket from, Socket to, boolean keep) {
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
        notifyAll();
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

    /** Waits until the server has sent these bytes on the last connection. */
    void awaitCarried(String text) {
        long end = System.nanoTime() + Inbox.PATIENCE.toNanos();
        try {
            synchronized (this) {
                while (!carried(text)) {
                    long left = (end - System.nanoTime()) / 1_000_000;
                    if (left <= 0) {
                        throw new AssertionError("not carried: " + text);
                    }
                    wait(left);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted while waiting for " + text, e);
        }
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
        relay.close();
    }
}
