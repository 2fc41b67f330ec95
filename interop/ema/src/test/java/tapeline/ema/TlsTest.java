package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.access.OmmException;
import com.refinitiv.ema.access.OmmState.DataState;
import com.refinitiv.ema.access.OmmState.StreamState;
import com.refinitiv.ema.rdm.EmaRdm;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.security.cert.X509Certificate;
import java.util.List;
import javax.net.ssl.ExtendedSSLSession;
import javax.net.ssl.SNIHostName;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Encrypted connections: of EMA consumers to a server, and of a hub to an EMA provider. */
@DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
class TlsTest {
    private static final String HOST = "localhost";
    private static final String NAME = "DNS:" + HOST;

    private static final int TLS_HANDSHAKE = 22;
    private static final int TLS_MAJOR = 3;

    /** How long a consumer tries that is not to get through. */
    private static final int VAIN_MS = 3_000;

    @RegisterExtension
    final Logs logs = new Logs();

    @RegisterExtension
    final Opened opened = new Opened();
    private final Certificates certificates = opened.keep(new Certificates());

    /** Hub and server whose consumers are shown this, with sources as they are written in its configuration. */
    private Tapeline tapeline(Certificates.Pair shown, String sources) {
        return opened.keep(logs.of(Tapeline.run("""
                %s
                [server]
                rssl-tls-port = 0
                wss-port = 0
                tls-certificate = "%s"
                tls-key = "%s"
                """.formatted(sources, shown.certificate(), shown.key()))));
    }

    private static String inClear(int port) {
        return "[[hub.source]]\nhosts = [\"127.0.0.1:" + port + "\"]\n";
    }

    private String encrypted(int port, String more) {
        return """
                [[hub.source]]
                hosts = ["%s:%d"]
                tls = true
                tls-ca = "%s"
                %s
                """.formatted(HOST, port, certificates.authority(), more);
    }

    private static int port(Tapeline tapeline, Consumer.Way way) {
        return way == Consumer.Way.SOCKET ? tapeline.encryptedPort() : tapeline.encryptedWebSocketPort();
    }

    private Consumer consumer(Tapeline tapeline) {
        return opened.keep(new Consumer(Settings.Compression.NONE, tapeline.consumerPort()));
    }

    private static void assertRefused(Tapeline tapeline, Certificates trust, Consumer.Way way) {
        assertThrows(
                OmmException.class,
                () -> Consumer.encrypted(way, trust.trust(), HOST, port(tapeline, way), VAIN_MS).close());
    }

    @ParameterizedTest
    @EnumSource
    void itemsArriveAsTheyWerePublished(Consumer.Way way) {
        int port = Ports.free();
        Source source = opened.keep(new Source(port));
        Tapeline tapeline = tapeline(certificates.signed("server", NAME), inClear(port));
        Consumer consumer =
                opened.keep(Consumer.encrypted(way, certificates.trust(), HOST, port(tapeline, way)));
        assertCarried(consumer, source, way == Consumer.Way.JSON);
    }

    /** Images of every kind, and 1,000 updates in their order. */
    private static void assertCarried(Consumer consumer, Source source, boolean json) {
        Stream stream = consumer.open(Source.SERVICE, "EVERY.N");
        Value image = stream.image().payload();
        assertEquals(json ? Trimmed.of(Samples.everyType()) : Samples.everyType(), json ? Trimmed.of(image) : image);
        Stream book = consumer.open(
                EmaFactory.createReqMsg().domainType(EmaRdm.MMT_MARKET_BY_ORDER).serviceName(Source.SERVICE)
                        .name("BOOK.N"),
                "book");
        assertEquals(Source.BOOK_ORDERS, ((Value.Rows) book.image().payload()).rows().size());
        int count = 1_000;
        for (long n = 1; n <= count; n++) {
            source.update("EVERY.N", n, Samples.tick(n));
        }
        List<Event> updates = stream.events.await(count, "updates", Event::isUpdate);
        for (int i = 0; i < count; i++) {
            assertEquals(i + 1, updates.get(i).seq());
        }
    }

    @Test
    void aServerOfAnotherNameOrAuthorityIsNotBelievedByTheSdk() {
        Tapeline tapeline = tapeline(certificates.signed("server", "DNS:elsewhere.example"), "");
        assertRefused(tapeline, certificates, Consumer.Way.SOCKET);
        int port = Ports.free();
        opened.keep(new Source(port));
        Tapeline ours = tapeline(certificates.signed("ours", NAME), inClear(port));
        assertRefused(ours, opened.keep(new Certificates()), Consumer.Way.RWF);
        opened.keep(Consumer.encrypted(Consumer.Way.SOCKET, certificates.trust(), HOST, ours.encryptedPort()));
    }

    @Test
    void whoSpeaksInClearAtAnEncryptedPortIsNotHeard() {
        Tapeline tapeline = tapeline(certificates.signed("server", NAME), "");
        Tap tap = opened.keep(new Tap(tapeline.encryptedPort()));
        assertThrows(
                OmmException.class,
                () -> Consumer.inVain(tap.port(), VAIN_MS).close());
        tapeline.awaitLogged(1, "InvalidContentType");
    }

    @Test
    void aRenewedCertificateIsShownToWhoComesAndNobodyElseNotices() {
        Certificates.Pair shown = certificates.signed("server", NAME);
        int port = Ports.free();
        Source source = opened.keep(new Source(port));
        Tapeline tapeline = tapeline(shown, inClear(port));
        Stream stream = opened.keep(Consumer.encrypted(
                        Consumer.Way.SOCKET, certificates.trust(), HOST, tapeline.encryptedPort()))
                .open(Source.SERVICE, "A.N");
        stream.image();
        Certificates next = opened.keep(new Certificates());
        shown.become(next.signed("server", NAME));
        tapeline.awaitLogged(1, "certificates are read again");
        opened.keep(Consumer.encrypted(Consumer.Way.SOCKET, next.trust(), HOST, tapeline.encryptedPort()));
        assertRefused(tapeline, certificates, Consumer.Way.SOCKET);
        int mark = stream.events.size();
        source.update("A.N", 1, Samples.tick(1));
        stream.updateFrom(mark);
        assertTrue(stream.events.all().stream().noneMatch(e -> e.says(StreamState.OPEN, DataState.SUSPECT)));
    }

    @Test
    void aNonInteractiveProviderPublishesOverTls() {
        Certificates.Pair shown = certificates.signed("hub", NAME);
        Tapeline tapeline = opened.keep(logs.of(Tapeline.run("""
                [hub]
                ni-port = "off"
                ni-tls-port = 0
                tls-certificate = "%s"
                tls-key = "%s"
                """.formatted(shown.certificate(), shown.key()))));
        Broadcaster broadcaster =
                opened.keep(Broadcaster.encrypted(certificates.trust(), HOST, tapeline.encryptedProviderPort()));
        broadcaster.publish("A.N", Samples.tick(0));
        Stream stream = consumer(tapeline).open(Broadcaster.SERVICE, "A.N");
        assertEquals(Samples.tick(0), stream.image().payload());
        int mark = stream.events.size();
        broadcaster.update("A.N", EmaRdm.MMT_MARKET_PRICE, 1, Samples.tick(1));
        assertEquals(Samples.tick(1), stream.updateFrom(mark).payload());
    }

    @Test
    void aProviderIsReachedOverTls() {
        int port = Ports.free();
        Source source = new Source(port, certificates.signed("provider", NAME));
        Tapeline tapeline = tapeline(certificates.signed("server", NAME), encrypted(port, ""));
        Consumer consumer = consumer(tapeline);
        assertCarried(consumer, source, false);
        Stream stream = consumer.open(Source.SERVICE, "B.N");
        stream.image();
        source.close();
        stream.stale(0);
        // It is reached again where it comes back.
        int mark = stream.events.size();
        opened.keep(new Source(port, certificates.signed("again", NAME)));
        stream.fresh(mark);
    }

    @Test
    void aProviderWithAnotherNameIsSpokenToOnlyIfThatIsExpected() {
        int port = Ports.free();
        Source source = opened.keep(new Source(port, certificates.signed("provider", "DNS:feed.example")));
        Certificates.Pair shown = certificates.signed("server", NAME);
        Tapeline wary = tapeline(shown, encrypted(port, ""));
        wary.awaitLogged(1, "certificate not valid for name");
        assertEquals(0, source.logins.size());
        Tapeline told = tapeline(shown, encrypted(port, "tls-name = \"feed.example\""));
        consumer(told).open(Source.SERVICE, "A.N").image();
    }

    @Test
    void aProviderOfAnotherAuthorityIsNotSpokenTo() {
        int port = Ports.free();
        Source source = opened.keep(new Source(port, opened.keep(new Certificates()).signed("provider", NAME)));
        Tapeline tapeline = tapeline(certificates.signed("server", NAME), encrypted(port, ""));
        tapeline.awaitLogged(1, "invalid peer certificate");
        assertEquals(0, source.logins.size());
    }

    @Test
    void aProviderIsSentTheNameThatIsExpectedAndShownTheCertificateThatItAsksFor() throws Exception {
        Certificates.Pair feed = certificates.signed("feed", "DNS:feed.example");
        Certificates.Pair own = certificates.signed("own", "DNS:hub.example");
        try (SSLServerSocket provider = (SSLServerSocket) certificates.context(feed).getServerSocketFactory()
                .createServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            provider.setNeedClientAuth(true);
            tapeline(certificates.signed("server", NAME), encrypted(provider.getLocalPort(), """
                    tls-name = "feed.example"
                    tls-certificate = "%s"
                    tls-key = "%s"
                    """.formatted(own.certificate(), own.key())));
            try (SSLSocket hub = (SSLSocket) provider.accept()) {
                hub.startHandshake();
                ExtendedSSLSession session = (ExtendedSSLSession) hub.getSession();
                assertEquals(List.of(new SNIHostName("feed.example")), session.getRequestedServerNames());
                X509Certificate shown = (X509Certificate) session.getPeerCertificates()[0];
                assertEquals("CN=own", shown.getSubjectX500Principal().getName());
            }
        }
    }

    @Test
    void nothingGoesInClearToAProviderWithoutTls() throws IOException {
        try (ServerSocket provider = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            tapeline(certificates.signed("server", NAME), encrypted(provider.getLocalPort(), ""));
            // It is tried again and again, and never otherwise, whatever is answered.
            byte[] accepted = {0, 24, 0, 56, 0, 0, 0, 23};
            byte[] refused = "HTTP/1.1 400\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
            for (byte[] answer : List.of(accepted, refused, new byte[0])) {
                try (Socket hub = provider.accept()) {
                    assertEquals(TLS_HANDSHAKE, hub.getInputStream().read());
                    assertEquals(TLS_MAJOR, hub.getInputStream().read());
                    hub.getOutputStream().write(answer);
                }
            }
        }
    }
}
