"""Processes of the program under test: hub and server in one, and a source that publishes into it."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

START_SECONDS = 60
SERVICE = "DIRECT"

# What the source publishes: an image, and updates that are sent in turn, again and again. Each
# carries its bid and, so that a mix of two is seen, an ask that follows from it.
IMAGE = (100, 900)
UPDATES = [(bid, 1000 - bid) for bid in range(101, 109)]


def data_file():
    """The source's data, as `tapeline source --data` reads them."""
    lines = ['domain = "MARKET_PRICE"', "[image]", 'DSPLY_NAME = "SAMPLE"']
    lines += [f'BID = "{IMAGE[0]}"', f'ASK = "{IMAGE[1]}"', "BIDSIZE = 7"]
    for bid, ask in UPDATES:
        lines += ["[[update]]", 'type = "QUOTE"', "[update.fields]"]
        lines += [f'BID = "{bid}"', f'ASK = "{ask}"', f"BIDSIZE = {bid}"]
    return "\n".join(lines) + "\n"


class Program:
    """One process; what it logs goes into a file, for when something fails."""

    def __init__(self, folder, name, *arguments):
        self.log = Path(folder, f"{name}.log")
        with self.log.open("ab") as log:
            command = [os.environ["TAPELINE"], *arguments]
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(START_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


class System:
    """Hub and server in one process with a WebSocket port and arguments of its own, and a source."""

    def __init__(self, items, *arguments):
        self.folder = tempfile.mkdtemp(prefix="tapeline-python")
        self.ports = {"ni": "0", "ws": "0"}
        self.server = self.source = None
        self.items = items
        self.arguments = arguments
        try:
            self.start_server()
            self.start_source()
        except BaseException:
            self.stop()
            raise

    def start_source(self):
        data = Path(self.folder, "data.toml")
        data.write_text(data_file(), encoding="utf-8")
        self.source = Program(
            self.folder, "source", "source", "--connect", f"127.0.0.1:{self.ports['ni']}",
            "--service", SERVICE, "--data", str(data), "--rate", "60", "--tps", "20",
            "--interval", "0", *self.items,
        )

    def start_server(self):
        """Starts the server, the second time at the ports that it had."""
        ready = Path(self.folder, "ready")
        ready.unlink(missing_ok=True)
        self.server = Program(
            self.folder, "run", "run", "--backbone", "aeron:ipc", "--rssl-port", "0",
            "--ni-port", self.ports["ni"], "--ws-port", self.ports["ws"],
            "--ready-file", str(ready), *self.arguments,
        )
        until = time.monotonic() + START_SECONDS
        while not (ready.exists() and ready.read_text(encoding="utf-8").endswith("\n")):
            if self.server.process.poll() is not None or time.monotonic() > until:
                raise AssertionError(f"the server does not start:\n{self.logs()}")
            time.sleep(0.02)
        for line in ready.read_text(encoding="utf-8").splitlines():
            what, _, address = line.partition("=")
            self.ports[what] = address.rpartition(":")[2]

    def restart(self):
        """Starts all anew. The source is there only when a client is back and asks for it."""
        self.source.stop()
        self.server.stop()
        mounts = self.mounts()
        self.start_server()
        until = time.monotonic() + START_SECONDS
        while self.mounts() == mounts:
            if time.monotonic() > until:
                raise AssertionError(f"nobody connects again:\n{self.logs()}")
            time.sleep(0.02)
        self.start_source()

    def mounts(self):
        """How many clients have connected so far."""
        return self.server.log.read_text(errors="replace").count("a JSON mount is open")

    @property
    def url(self):
        return f"ws://127.0.0.1:{self.ports['ws']}/WebSocket"

    def logs(self):
        files = sorted(Path(self.folder).glob("*.log"))
        return "\n".join(f"{file.name}:\n{file.read_text(errors='replace')[-4000:]}" for file in files)

    def stop(self):
        for program in (self.source, self.server):
            if program is not None:
                program.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
