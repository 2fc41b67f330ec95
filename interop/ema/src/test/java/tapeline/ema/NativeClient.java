package tapeline.ema;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** A client of the exchange's native gateway, written from the places of fields in MIT203 alone. */
final class NativeClient implements AutoCloseable {
    static final int BUY = 1;
    static final int SELL = 2;

    private static final int PRICE_UNIT = 100_000_000;

    private final Socket socket;
    private final DataInputStream input;

    NativeClient(int port, String user) {
        try {
            socket = new Socket(InetAddress.getLoopbackAddress(), port);
            socket.setTcpNoDelay(true);
            socket.setSoTimeout((int) Inbox.PATIENCE.toMillis());
            input = new DataInputStream(socket.getInputStream());
            ByteBuffer logon = message('A', 80);
            text(logon, 4, user);
            text(logon, 29, "secret");
            logon.put(79, (byte) 1);
            send(logon);
            if (await('B').getInt(4) != 0) {
                throw new AssertionError("the logon is refused");
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A limit order of the day, shown in full; returns when it is in the book, or has traded. */
    void order(String name, int instrument, int side, int quantity, double price) {
        ByteBuffer order = message('D', 125);
        text(order, 4, name);
        order.put(45, (byte) 1).putInt(46, instrument).put(52, (byte) 2).put(58, (byte) side);
        order.putInt(59, quantity).putInt(63, quantity).putLong(67, Math.round(price * PRICE_UNIT));
        order.put(75, (byte) 2).put(76, (byte) 1);
        send(order);
        report(name, '0', 'F');
    }

    void cancel(String name, String original, int instrument, int side) {
        ByteBuffer cancel = message('F', 73);
        text(cancel, 4, name);
        text(cancel, 24, original);
        cancel.putInt(56, instrument).put(62, (byte) side);
        send(cancel);
        report(name, '4');
    }

    private void report(String name, char... types) {
        ByteBuffer report = await('8');
        byte[] of = new byte[20];
        report.get(21, of);
        String found = new String(of, StandardCharsets.US_ASCII).trim();
        char type = (char) report.get(53);
        if (!found.equals(name) || new String(types).indexOf(type) < 0) {
            throw new AssertionError("a report " + type + " of " + found + " with code " + report.getInt(67));
        }
    }

    private static ByteBuffer message(char type, int length) {
        ByteBuffer bytes = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
        return bytes.put(0, (byte) 2).putShort(1, (short) (length - 3)).put(3, (byte) type);
    }

    private static void text(ByteBuffer message, int at, String text) {
        message.put(at, text.getBytes(StandardCharsets.US_ASCII));
    }

    private void send(ByteBuffer message) {
        try {
            socket.getOutputStream().write(message.array());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The next message of a type; heartbeats come as they like. */
    private ByteBuffer await(char type) {
        try {
            while (true) {
                byte[] head = input.readNBytes(3);
                int length = (head[1] & 0xff | (head[2] & 0xff) << 8) + 3;
                ByteBuffer message = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
                message.put(head).put(input.readNBytes(length - 3));
                char found = (char) message.get(3);
                if (found == type) {
                    return message;
                }
                if (found != '0') {
                    throw new AssertionError("a message " + found + " instead of " + type);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        try {
            socket.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
