"""The vendor's Python library over TLS, with a name and with tokens that it renews.

LIBRARY names the library, as `lseg.data`, and TAPELINE the program under test.
"""

import importlib
import json
import os
import shutil
import tempfile
import unittest
from pathlib import Path

from issuer import ISSUER, Certificates, Issuer
from tapeline import SERVICE, UPDATES, System
from test_platform import LIBRARY, Inbox

ITEM = "ONE.N"

# The library renews a token at half of its time.
TOKEN_SECONDS = 12
POLICY = f"""
version = 1
[[role]]
name = "all"
grants = [{{ service = "{SERVICE}" }}]
[[role]]
name = "publisher"
publishes = ["{SERVICE}"]
[[user]]
name = "tester"
roles = ["all"]
[[user]]
name = "tapeline"
roles = ["publisher"]
"""


class Secure(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="tapeline-python")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        certificates = Certificates(cls.folder)
        # What the library believes servers by is settled when it connects first.
        os.environ["WEBSOCKET_CLIENT_CA_BUNDLE"] = certificates.authority
        cls.addClassCleanup(os.environ.pop, "WEBSOCKET_CLIENT_CA_BUNDLE")
        cls.issuer = Issuer(cls.folder, "tester", TOKEN_SECONDS)
        cls.addClassCleanup(cls.issuer.stop)
        policy, config = Path(cls.folder, "policy.toml"), Path(cls.folder, "tapeline.toml")
        policy.write_text(POLICY, encoding="utf-8")
        config.write_text(
            f'[token]\njwks = "{cls.issuer.keys}"\nissuer = "{ISSUER}"\nleeway-s = 0\n'
            f'[entitle]\npolicy = "{policy}"\n', encoding="utf-8")
        cls.system = System(
            [ITEM], "--config", str(config), "--wss-port", "0",
            "--tls-certificate", certificates.certificate, "--tls-key", certificates.key,
        )
        cls.addClassCleanup(cls.system.stop)
        cls.configure()
        cls.library = importlib.import_module(LIBRARY)
        cls.pricing = importlib.import_module(f"{LIBRARY}.content.pricing")
        cls.library.load_config(cls.config_file)

    @classmethod
    def configure(cls):
        """Sessions with a name, with tokens, and with a server whose certificate is for another."""
        url = lambda host: f"wss://{host}:{cls.system.ports['wss']}/WebSocket"
        deployed = lambda host: {
            "app-key": "none", "auto-reconnect": host == "localhost",
            "realtime-distribution-system": {
                "url": url(host),
                "dacs": {"username": "tester", "application-id": "256", "position": "127.0.0.1/net"},
            },
        }
        tokens = {"app-key": "none", "username": "tester", "password": "secret",
                  "signon_control": True, "base-url": cls.issuer.url}
        config = {
            "logs": {"level": "error", "transports": {"console": {"enabled": False},
                                                      "file": {"enabled": False}}},
            "sessions": {"default": "platform.named", "platform": {
                "named": deployed("localhost"), "elsewhere": deployed("127.0.0.1"),
                "tokens": tokens,
            }},
            "apis": {"streaming": {"pricing": {"endpoints": {"main": {
                "direct-url": url("localhost")}}}}},
        }
        cls.config_file = str(Path(cls.folder, "library.json"))
        Path(cls.config_file).write_text(json.dumps(config), encoding="utf-8")

    def session(self, name):
        session = self.library.session.platform.Definition(name=name).get_session()
        self.addCleanup(session.close)
        return session

    def stream(self, session):
        definition = self.pricing.Definition(universe=[ITEM], fields=["BID", "ASK"], service=SERVICE)
        stream = definition.get_stream(session=session)
        self.addCleanup(stream.close)
        return stream, Inbox(stream)

    def opened(self, name):
        session = self.session(name)
        self.assertEqual(session.open().name, "Opened")
        stream, inbox = self.stream(session)
        stream.open()
        inbox.wait_for("an image", lambda: inbox.refreshes)
        return inbox

    def test_items_stream_over_tls(self):
        inbox = self.opened("named")
        inbox.wait_for("updates", lambda: inbox.quotes(ITEM) == set(UPDATES))

    def test_a_token_is_its_user_and_the_library_renews_it(self):
        inbox = self.opened("tokens")
        granted = self.issuer.granted
        # The first has ended when the third renewal is there.
        inbox.wait_for("renewals", lambda: self.issuer.granted >= granted + 3)
        with inbox.changed:
            inbox.updates.clear()
        inbox.wait_for("updates", lambda: inbox.quotes(ITEM) == set(UPDATES))
        self.assertEqual(inbox.statuses, [])
        self.assertEqual(len(inbox.refreshes), 1, "a stream that was opened once")

    def test_a_server_with_a_certificate_for_another_name_is_not_spoken_to(self):
        session = self.session("elsewhere")
        session.open()
        mounts = self.system.mounts()
        stream, inbox = self.stream(session)
        self.assertRaises(ConnectionError, stream.open)
        self.opened("named")
        self.assertEqual((inbox.refreshes, self.system.mounts()), ([], mounts + 1))


if __name__ == "__main__":
    unittest.main(verbosity=2)
