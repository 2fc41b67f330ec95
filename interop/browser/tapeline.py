"""The program under test, as processes of its own."""

import os
import shutil
import subprocess
import tempfile
import time

PATIENCE_S = 60


class Tapeline:
    """A running `tapeline`; `program` is its file."""

    def __init__(self, *arguments, program=None, config=None):
        self._folder = tempfile.mkdtemp(prefix="tapeline-browser-")
        ready = os.path.join(self._folder, "ready")
        command = [program or os.environ["TAPELINE"], *arguments, "--ready-file", ready]
        if config is not None:
            path = os.path.join(self._folder, "tapeline.toml")
            with open(path, "w") as file:
                file.write(config)
            command += ["--config", path]
        self._log = open(os.path.join(self._folder, "log"), "w+b")
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log)
        try:
            self._addresses = self._await(ready)
        except BaseException:
            self.stop()
            raise

    def _await(self, ready):
        end = time.monotonic() + PATIENCE_S
        while True:
            if os.path.exists(ready):
                with open(ready) as file:
                    return dict(line.rstrip().split("=", 1) for line in file)
            if self._process.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"{self._process.args} is not ready:\n{self.log()}")
            time.sleep(0.02)

    def port(self, name):
        """The port behind a name of the ready file: `ws`, `ni`."""
        return self._addresses[name].rsplit(":", 1)[1]

    def log(self):
        self._log.seek(0)
        return self._log.read().decode(errors="replace")

    def stop(self):
        """Ends it in order; once more does nothing."""
        if self._log.closed:
            return
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._log.close()
        shutil.rmtree(self._folder, ignore_errors=True)


# A name that nobody has published is refused, so that there is something to refuse; and a service
# that nobody has is known as such after two seconds.
CONFIG = """
[hub]
unpublished = "not-found"
[server]
open-timeout-ms = 2000
"""


class Market:
    """Hub and server in one process, and a source that publishes what it has, `rate` updates a second."""

    def __init__(self, *source_arguments, rate=200):
        self._source_arguments = source_arguments
        self._rate = rate
        self.source = None
        self.node = None
        try:
            self.start_node("0", "0")
            self.start_source()
        except BaseException:
            self.stop()
            raise

    def start_node(self, ws_port, ni_port):
        self.node = Tapeline("run", "--rssl-port", "0", "--ni-port", ni_port, "--ws-port", ws_port,
                             "--admin-port", "0", config=CONFIG)

    def start_source(self):
        self.source = self.source_of(*self._source_arguments)

    def source_of(self, *arguments):
        """A source beside the market's own."""
        hub = f"127.0.0.1:{self.node.port('ni')}"
        return Tapeline("source", "--connect", hub, "--rate", str(self._rate), "--interval", "0", *arguments)

    def restart_node(self, between=lambda: None):
        """Ends the node and starts another at its ports."""
        ports = self.node.port("ws"), self.node.port("ni")
        self.node.stop()
        between()
        self.start_node(*ports)

    @property
    def admin(self):
        return f"http://127.0.0.1:{self.node.port('admin')}/"

    @property
    def url(self):
        return f"http://127.0.0.1:{self.node.port('ws')}/"

    def stop(self):
        for program in (self.source, self.node):
            if program is not None:
                program.stop()
