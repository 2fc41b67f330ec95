package tapeline.ema;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.Signature;
import java.security.interfaces.ECPublicKey;
import java.security.interfaces.RSAPublicKey;
import java.security.spec.ECGenParameterSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** Who issues tokens: signs JSON Web Tokens, and publishes its keys as a JSON Web Key Set over HTTP. */
final class Issuer implements AutoCloseable {
    static final String NAME = "https://issuer.example";
    static final String AUDIENCE = "tapeline";

    private static final int RSA_BITS = 2_048;
    private static final int COORDINATE_BYTES = 32;

    /** One key of the issuer; the algorithm is as tokens name it. */
    static final class SigningKey {
        private final String id;
        private final String algorithm;
        private final KeyPair pair;

        private SigningKey(String id, String algorithm, KeyPair pair) {
            this.id = id;
            this.algorithm = algorithm;
            this.pair = pair;
        }

        static SigningKey rs256(String id) {
            return made(id, "RS256");
        }

        static SigningKey es256(String id) {
            return made(id, "ES256");
        }

        private static SigningKey made(String id, String algorithm) {
            try {
                boolean rsa = algorithm.equals("RS256");
                KeyPairGenerator generator = KeyPairGenerator.getInstance(rsa ? "RSA" : "EC");
                if (rsa) {
                    generator.initialize(RSA_BITS);
                } else {
                    generator.initialize(new ECGenParameterSpec("secp256r1"));
                }
                return new SigningKey(id, algorithm, generator.generateKeyPair());
            } catch (GeneralSecurityException e) {
                throw new IllegalStateException(e);
            }
        }

        private String published() {
            String head = "{\"kid\":\"" + id + "\",\"use\":\"sig\",\"alg\":\"" + algorithm + "\",";
            if (pair.getPublic() instanceof RSAPublicKey rsa) {
                return head + "\"kty\":\"RSA\",\"n\":\"" + base64(unsigned(rsa.getModulus())) + "\",\"e\":\""
                        + base64(unsigned(rsa.getPublicExponent())) + "\"}";
            }
            ECPublicKey curve = (ECPublicKey) pair.getPublic();
            return head + "\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"" + base64(coordinate(curve.getW().getAffineX()))
                    + "\",\"y\":\"" + base64(coordinate(curve.getW().getAffineY())) + "\"}";
        }

        private byte[] sign(String message) {
            try {
                Signature signature = Signature.getInstance(
                        algorithm.equals("RS256") ? "SHA256withRSA" : "SHA256withECDSAinP1363Format");
                signature.initSign(pair.getPrivate());
                signature.update(message.getBytes(StandardCharsets.US_ASCII));
                return signature.sign();
            } catch (GeneralSecurityException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    /** What a token says; each {@code with} is another one. */
    record Claims(String user, String audience, long expiresAt) {
        static Claims of(String user) {
            return new Claims(user, AUDIENCE, nowSeconds() + 3_600);
        }

        Claims forAudience(String another) {
            return new Claims(user, another, expiresAt);
        }

        Claims expiringIn(long seconds) {
            return new Claims(user, audience, nowSeconds() + seconds);
        }

        private String json() {
            return "{\"iss\":\"" + NAME + "\",\"sub\":\"" + user + "\",\"aud\":\"" + audience + "\",\"iat\":"
                    + (nowSeconds() - 60) + ",\"exp\":" + expiresAt + "}";
        }
    }

    final AtomicInteger fetches = new AtomicInteger();

    private final HttpServer server;
    private volatile List<SigningKey> published = List.of();

    Issuer(SigningKey... keys) {
        publish(keys);
        try {
            server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        server.createContext("/keys", exchange -> {
            fetches.incrementAndGet();
            byte[] body = keySet().getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, body.length);
            try (exchange) {
                exchange.getResponseBody().write(body);
            }
        });
        server.start();
    }

    /** The keys that are published from now on, and no others. */
    void publish(SigningKey... keys) {
        published = List.of(keys);
    }

    private String keySet() {
        return "{\"keys\":[" + String.join(",", published.stream().map(SigningKey::published).toList()) + "]}";
    }

    /** Where its keys are. */
    String url() {
        return "http://127.0.0.1:" + server.getAddress().getPort() + "/keys";
    }

    static String token(SigningKey key, Claims claims) {
        String message = message(key.algorithm, key.id, claims);
        return message + "." + base64(key.sign(message));
    }

    /** A token that nobody signed. */
    static String unsigned(String algorithm, String keyId, Claims claims) {
        return message(algorithm, keyId, claims) + ".";
    }

    /** The token with what another one says, and its own signature. */
    static String forged(String token, Claims claims) {
        List<String> parts = new ArrayList<>(List.of(token.split("\\.")));
        parts.set(1, base64(claims.json().getBytes(StandardCharsets.UTF_8)));
        return String.join(".", parts);
    }

    private static String message(String algorithm, String keyId, Claims claims) {
        String head = "{\"typ\":\"JWT\",\"alg\":\"" + algorithm + "\",\"kid\":\"" + keyId + "\"}";
        return base64(head.getBytes(StandardCharsets.UTF_8)) + "."
                + base64(claims.json().getBytes(StandardCharsets.UTF_8));
    }

    static long nowSeconds() {
        return System.currentTimeMillis() / 1_000;
    }

    private static String base64(byte[] bytes) {
        return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
    }

    private static byte[] unsigned(BigInteger number) {
        byte[] bytes = number.toByteArray();
        return bytes[0] == 0 ? Arrays.copyOfRange(bytes, 1, bytes.length) : bytes;
    }

    private static byte[] coordinate(BigInteger number) {
        byte[] bytes = unsigned(number);
        byte[] padded = new byte[COORDINATE_BYTES];
        System.arraycopy(bytes, 0, padded, COORDINATE_BYTES - bytes.length, bytes.length);
        return padded;
    }

    @Override
    public void close() {
        server.stop(0);
    }
}
