"""Certificates, and an issuer of tokens: both made with the program openssl, as they would be by hand."""

import base64
import json
import re
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ISSUER = "https://issuer.example"
AUDIENCE = "tapeline"
KEY_ID = "first"


def openssl(*arguments, text=None):
    done = subprocess.run(["openssl", *arguments], input=text, capture_output=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"openssl {' '.join(arguments)}: {done.stderr.decode()}")
    return done.stdout


class Certificates:
    """An authority, and a certificate of it for localhost, as PEM files."""

    def __init__(self, folder, name="localhost"):
        path = lambda file: str(Path(folder, f"{name}-{file}"))
        self.authority, self.certificate, self.key = path("ca.pem"), path("it.pem"), path("it.key")
        curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc")
        openssl("req", "-x509", *curve, "-keyout", path("ca.key"), "-out", self.authority,
                "-days", "2", "-subj", "/CN=Interop authority")
        openssl("req", *curve, "-keyout", self.key, "-out", path("it.csr"), "-subj", "/CN=it")
        Path(path("names")).write_text(f"subjectAltName=DNS:{name}", encoding="utf-8")
        openssl("x509", "-req", "-in", path("it.csr"), "-CA", self.authority,
                "-CAkey", path("ca.key"), "-CAcreateserial", "-days", "2",
                "-extfile", path("names"), "-out", self.certificate)


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Issuer:
    """A token service as the library asks one: a password first, and a new token before each ends."""

    def __init__(self, folder, user, token_seconds):
        self.user, self.token_seconds = user, token_seconds
        self.key = str(Path(folder, "issuer.key"))
        openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", self.key)
        modulus = openssl("rsa", "-in", self.key, "-noout", "-modulus").decode()
        modulus = bytes.fromhex(re.match(r"Modulus=([0-9A-F]+)", modulus)[1])
        key = {"kty": "RSA", "kid": KEY_ID, "alg": "RS256", "use": "sig",
               "n": base64url(modulus), "e": base64url(b"\x01\x00\x01")}
        self.keys = str(Path(folder, "keys.json"))
        Path(self.keys).write_text(json.dumps({"keys": [key]}), encoding="utf-8")
        self.granted = 0
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def handler(issuer):
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                body = {}
                if self.path.endswith("/token"):
                    issuer.granted += 1
                    body = {"access_token": issuer.token(issuer.token_seconds),
                            "refresh_token": "again", "token_type": "Bearer",
                            "expires_in": str(issuer.token_seconds), "scope": "trapi"}
                body = json.dumps(body).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        return Handler

    def token(self, seconds):
        """A token that ends after so many seconds."""
        now = int(time.time())
        claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": self.user, "iat": now, "exp": now + seconds}
        head = {"typ": "JWT", "alg": "RS256", "kid": KEY_ID}
        message = ".".join(base64url(json.dumps(part).encode()) for part in (head, claims))
        signature = openssl("dgst", "-sha256", "-sign", self.key, text=message.encode())
        return f"{message}.{base64url(signature)}"

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
