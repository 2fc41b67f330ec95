package tapeline.ema;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.GeneralSecurityException;
import java.security.Key;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/**
 * An authority and what it signs, in a folder of its own: PEM files for Tapeline, key stores for the SDK.
 *
 * <p>They are made with the program openssl.
 */
final class Certificates implements AutoCloseable {
    static final String PASSWORD = "changeit";

    /** A certificate with its key: as the SDK has it, and as two PEM files. */
    record Pair(Path store, Path certificate, Path key) {
        /** Puts another one in the place of this one. */
        void become(Pair other) {
            try {
                Files.copy(other.certificate, certificate, StandardCopyOption.REPLACE_EXISTING);
                Files.copy(other.key, key, StandardCopyOption.REPLACE_EXISTING);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private final Path folder;

    Certificates() {
        try {
            folder = Files.createTempDirectory("tapeline-tls");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-days", "2",
                "-subj", "/CN=Interop authority", "-keyout", file("ca.key"), "-out", file("ca.pem"));
        store(trust(), store -> store.setCertificateEntry("ca", certificate(authority())));
    }

    private String file(String name) {
        return folder.resolve(name).toString();
    }

    /** The authority, for Tapeline. */
    Path authority() {
        return folder.resolve("ca.pem");
    }

    /** The authority, for the SDK. */
    Path trust() {
        return folder.resolve("trust.p12");
    }

    /** A certificate for a name, as openssl writes it: {@code DNS:NAME} or {@code IP:ADDRESS}. */
    Pair signed(String file, String name) {
        Pair pair = new Pair(
                folder.resolve(file + ".p12"), folder.resolve(file + ".pem"), folder.resolve(file + ".key"));
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-subj", "/CN=" + file,
                "-keyout", pair.key.toString(), "-out", file("request.pem"));
        try {
            Files.writeString(folder.resolve("names"), "subjectAltName=" + name);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        openssl("x509", "-req", "-in", file("request.pem"), "-CA", file("ca.pem"), "-CAkey", file("ca.key"),
                "-CAcreateserial", "-days", "2", "-extfile", file("names"), "-out", pair.certificate.toString());
        store(pair.store, store -> {
            Certificate[] chain = {certificate(pair.certificate), certificate(authority())};
            store.setKeyEntry(file, key(pair.key), PASSWORD.toCharArray(), chain);
        });
        return pair;
    }

    /** TLS of a server with this certificate, and of clients with one of the authority. */
    SSLContext context(Pair pair) throws GeneralSecurityException, IOException {
        KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(load(pair.store), PASSWORD.toCharArray());
        TrustManagerFactory believed = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        believed.init(load(trust()));
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(keys.getKeyManagers(), believed.getTrustManagers(), null);
        return context;
    }

    private static KeyStore load(Path path) throws GeneralSecurityException, IOException {
        try (InputStream in = Files.newInputStream(path)) {
            KeyStore store = KeyStore.getInstance("PKCS12");
            store.load(in, PASSWORD.toCharArray());
            return store;
        }
    }

    private static void openssl(String... arguments) {
        List<String> command = new ArrayList<>(List.of("openssl"));
        command.addAll(List.of(arguments));
        try {
            Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
            String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (process.waitFor() != 0) {
                throw new IllegalStateException(String.join(" ", command) + "\n" + said);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    private interface Filling {
        void of(KeyStore store) throws GeneralSecurityException, IOException;
    }

    private static void store(Path path, Filling filling) {
        try (OutputStream out = Files.newOutputStream(path)) {
            KeyStore store = KeyStore.getInstance("PKCS12");
            store.load(null, null);
            filling.of(store);
            store.store(out, PASSWORD.toCharArray());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Certificate certificate(Path pem) throws GeneralSecurityException, IOException {
        try (InputStream in = Files.newInputStream(pem)) {
            return CertificateFactory.getInstance("X.509").generateCertificate(in);
        }
    }

    private static Key key(Path pem) throws GeneralSecurityException, IOException {
        String lines = Files.readString(pem).replaceAll("-----.*-----", "");
        return KeyFactory.getInstance("EC").generatePrivate(
                new PKCS8EncodedKeySpec(Base64.getMimeDecoder().decode(lines)));
    }

    @Override
    public void close() {
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
