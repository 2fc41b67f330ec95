package tapeline.fix;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A connection on which anything can be sent, also what QuickFIX/J would not. */
final class Raw implements AutoCloseable {
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("yyyyMMdd-HH:mm:ss.SSS");
    private static final Pattern WHOLE =
            Pattern.compile("8=FIXT\\.1\\.1\u0001.*?\u000110=\\d{3}\u0001", Pattern.DOTALL);

    private final String name;
    private final Socket socket;
    private final StringBuilder unread = new StringBuilder();

    Raw(int port, String name) {
        this.name = name;
        try {
            socket = new Socket(InetAddress.getLoopbackAddress(), port);
            socket.setTcpNoDelay(true);
            socket.setSoTimeout((int) Inbox.PATIENCE.toMillis());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static String now() {
        return LocalDateTime.now(ZoneOffset.UTC).format(TIME);
    }

    /** A message of a type and number with these fields, `|` between them. */
    void send(String type, int number, String fields) {
        String body = "35=" + type + "|49=" + name + "|56=" + Client.EXCHANGE + "|34=" + number + "|52=" + now() + "|"
                + fields;
        String text = ("8=FIXT.1.1|9=" + body.length() + "|" + body).replace('|', '\u0001');
        int sum = text.getBytes(StandardCharsets.ISO_8859_1).length == text.length() ? text.chars().sum() % 256 : 0;
        bytes(text + "10=" + String.format("%03d", sum) + "\u0001");
    }

    void logOn(int number, int heartbeat_s, String password) {
        send("A", number, "98=0|108=" + heartbeat_s + "|553=" + name + "|554=" + password + "|1137=9|");
    }

    void bytes(String text) {
        try {
            socket.getOutputStream().write(text.getBytes(StandardCharsets.ISO_8859_1));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The next message, `|` between its fields; nothing if the exchange has closed. */
    String next() {
        try {
            InputStream in = socket.getInputStream();
            byte[] some = new byte[4096];
            while (true) {
                Matcher whole = WHOLE.matcher(unread);
                if (whole.lookingAt()) {
                    String message = Fields.readable(whole.group());
                    unread.delete(0, whole.end());
                    return message;
                }
                int count = in.read(some);
                if (count < 0) {
                    return "";
                }
                unread.append(new String(some, 0, count, StandardCharsets.ISO_8859_1));
            }
        } catch (IOException e) {
            return closed(e);
        }
    }

    /** A connection that is closed with bytes unread is reset. */
    private static String closed(IOException e) {
        if (e instanceof java.net.SocketException) {
            return "";
        }
        throw new AssertionError("the exchange neither says anything nor closes", e);
    }

    /** The next message of a type; what comes before it does not matter. */
    String next(String type) {
        while (true) {
            String message = next();
            if (message.isEmpty()) {
                throw new AssertionError("the exchange closes without a message " + type);
            }
            if (message.contains("|35=" + type + "|")) {
                return message;
            }
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
