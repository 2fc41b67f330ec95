"""The metrics as Prometheus' own library for OpenMetrics reads them, which is strict."""

import base64
import json
import resource
import socket
import tempfile
import unittest
import urllib.request

from prometheus_client.openmetrics.parser import text_string_to_metric_families
from tapeline import System

MOUNTS = 1_000
# Of mounts and users only the first of these have series.
TOP = 20
MOST_SERIES = 5_000


def log_in(port, number):
    """A JSON mount, as far as its login."""
    mount = socket.create_connection(("127.0.0.1", port), timeout=60)
    key = base64.b64encode(number.to_bytes(16, "big")).decode()
    mount.sendall(
        ("GET /WebSocket HTTP/1.1\r\nHost: here\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
         f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: tr_json2\r\nSec-WebSocket-Key: {key}\r\n\r\n").encode())
    while b"\r\n\r\n" not in mount.recv(65_536, socket.MSG_PEEK):
        pass
    mount.recv(65_536)
    login = json.dumps({
        "ID": 1, "Domain": "Login",
        "Key": {"Name": f"user{number}", "Elements": {"ApplicationId": "256", "Position": f"10.0.0.{number % 256}"}},
    }).encode()
    mount.sendall(bytes([0x81, 0xFE]) + len(login).to_bytes(2, "big") + bytes(4) + login)
    return mount


class Metrics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as config:
            config.write(f"[server]\nmax-mounts = {MOUNTS}\n")
            config.flush()
            cls.system = System(["ONE.N"], "--admin-port", "0", "--config", config.name)
        cls.mounts = []

    @classmethod
    def tearDownClass(cls):
        for mount in cls.mounts:
            mount.close()
        cls.system.stop()

    def setUp(self):
        if not self.mounts:
            self.mounts += [log_in(int(self.system.ports["ws"]), number) for number in range(MOUNTS)]
            for mount in self.mounts:
                self.assertIn(b'"Login"', mount.recv(65_536))

    def scrape(self):
        """What is said, and how it says that it is written."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.system.ports['admin']}/metrics", timeout=60) as said:
            return said.read().decode(), said.headers["Content-Type"]

    def test_a_strict_reader_takes_every_family(self):
        text, written = self.scrape()
        self.assertTrue(written.startswith("application/openmetrics-text; version=1.0.0"), written)
        families = {family.name: family for family in text_string_to_metric_families(text)}
        self.assertGreater(len(families), 100)
        for name, family in families.items():
            self.assertTrue(name.startswith("tapeline_") or name.startswith("process_"), name)
            self.assertTrue(family.documentation, name)
            self.assertNotEqual(family.type, "unknown", name)
        mounts = families["tapeline_server_mounts"].samples
        self.assertEqual(sum(sample.value for sample in mounts), MOUNTS)
        self.assertEqual(families["tapeline_thread_turns"].type, "counter")

    def test_a_thousand_mounts_are_few_series(self):
        text, _ = self.scrape()
        samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
        self.assertLess(len(samples), MOST_SERIES)
        of_mounts = [sample for sample in samples if "user" in sample.labels]
        self.assertGreater(len(of_mounts), 0)
        self.assertLessEqual(len({sample.labels["user"] for sample in of_mounts}), 2 * TOP)


if __name__ == "__main__":
    unittest.main()
