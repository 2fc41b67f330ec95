package tapeline.ema;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/** A web server that answers as Open Policy Agent's data API does, or in one of the ways in which it fails to. */
final class Authoriser implements AutoCloseable {
    static final String PATH = "/v1/data/tapeline/login";

    /** How a service that is asked fails. */
    enum Trouble {
        /** Nobody listens. */
        DOWN,
        /** It answers after two seconds. */
        SLOW,
        /** What it answers is JSON of another form. */
        WRONG_JSON,
        /** What it answers is none. */
        NO_JSON,
        /** It says that it failed. */
        ERROR
    }

    private static final int SLOW_S = 2;

    /** The bodies of the questions. */
    final Inbox<String> questions = new Inbox<>("authoriser, questions");

    private final int port = Ports.free();
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final CountDownLatch over = new CountDownLatch(1);
    private HttpServer server;
    private final Function<String, String> answer;
    private volatile Trouble trouble;

    /** The answer to each body of a question, as a body. */
    Authoriser(Function<String, String> answer) {
        this.answer = answer;
        listen();
    }

    private void listen() {
        try {
            server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        server.setExecutor(threads);
        server.createContext(PATH, this::handle);
        server.start();
    }

    String url() {
        return "http://127.0.0.1:" + port + PATH;
    }

    /** From now on it fails like this. */
    void fail(Trouble how) {
        trouble = how;
        if (how == Trouble.DOWN) {
            server.stop(0);
        }
    }

    /** From now on it is well. */
    void recover() {
        Trouble was = trouble;
        trouble = null;
        if (was == Trouble.DOWN) {
            listen();
        }
    }

    private void handle(HttpExchange exchange) throws IOException {
        String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
        questions.add(exchange.getRequestMethod() + " " + body);
        try (exchange) {
            Trouble now = trouble;
            if (now == null) {
                send(exchange, 200, answer.apply(body));
                return;
            }
            switch (now) {
                case SLOW -> {
                    over.await(SLOW_S, TimeUnit.SECONDS);
                    send(exchange, 200, answer.apply(body));
                }
                case WRONG_JSON -> send(exchange, 200, "{\"result\":{\"allow\":\"yes\"}}");
                case ERROR -> send(exchange, 500, "{\"code\":\"internal_error\"}");
                default -> send(exchange, 200, "<html>yes</html>");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void send(HttpExchange exchange, int status, String body) throws IOException {
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(status, bytes.length);
        exchange.getResponseBody().write(bytes);
    }

    @Override
    public void close() {
        over.countDown();
        server.stop(0);
        threads.shutdownNow();
    }
}
