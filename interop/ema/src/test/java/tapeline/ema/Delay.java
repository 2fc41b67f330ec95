package tapeline.ema;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.util.Arrays;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** A relay whose connections are as long as those to a host far away: everything arrives so much later. */
final class Delay implements AutoCloseable {
    private record Piece(long dueNanos, byte[] bytes) {}

    private final Relay relay;
    private final long nanos;

    /** To this port of this host; each way takes so long. */
    Delay(int target, int ms) {
        nanos = TimeUnit.MILLISECONDS.toNanos(ms);
        relay = new Relay(target, this::joined);
    }

    int port() {
        return relay.port();
    }

    private void joined(Socket client, Socket server) {
        pass(client, server);
        pass(server, client);
    }

    private void pass(Socket from, Socket to) {
        BlockingQueue<Piece> way = new LinkedBlockingQueue<>();
        Relay.start(() -> read(from, way));
        Relay.start(() -> write(way, to));
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
        relay.close();
    }
}
