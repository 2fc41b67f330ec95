"""QuickFIX for C++, by its Python module, as a client of the exchange's FIX door: the short day of another engine.

    TAPELINE=FILE python3 -m unittest test_cpp

It runs where the module `quickfix` is installed; its wheel takes some ten minutes to be built.
"""

import collections
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from datetime import datetime, timezone
from pathlib import Path
from xml.etree import ElementTree

try:
    import quickfix as fix
except ImportError:
    fix = None

PATIENCE_S = 30
PASSWORD = "secret"
BUY, SELL = 1, 2

MARKET = f"""
[market-data]
line-a = "127.0.0.1:9"
line-b = "127.0.0.1:9"
[[instrument]]
id = 1
name = "VOD.L"
tick = "0.05"
""" + "".join(
    f"""[[user]]
name = "{name}"
password = "{PASSWORD}"
firm = {firm}
auto-cancel = false
""" for firm, name in enumerate(("ANN", "BOB"), 1))


def dictionaries(folder):
    """Copies of the library's own, with what of the exchange's they lack and these messages have."""
    stock = Path(sys.prefix, "share", "quickfix")
    application = ElementTree.parse(stock / "FIX50SP2.xml")
    ElementTree.SubElement(
        application.find("fields/field[@name='ExecRestatementReason']"), "value", enum="100", description="REPLENISHED")
    application.find("messages/message[@msgtype='r']/field[@name='OrderID']").set("required", "N")
    application.write(folder / "application.xml")
    return stock / "FIXT11.xml", folder / "application.xml"


class Exchange:
    """The exchange as a process, at ports that the system chooses."""

    def __init__(self, folder):
        market, ready = folder / "market.toml", folder / "ready"
        market.write_text(MARKET, encoding="utf-8")
        program = Path(os.environ["TAPELINE"]).with_name("tapeline-exchange")
        self.process = subprocess.Popen([program, "run", "--any-port", "--ready-file", ready, market])
        end = time.monotonic() + PATIENCE_S
        while not ready.exists() or not ready.read_text(encoding="utf-8").endswith("\n"):
            try:
                status = self.process.wait(0.01)
                raise AssertionError(f"the exchange ended with status {status}")
            except subprocess.TimeoutExpired:
                if time.monotonic() > end:
                    raise
        self.port = int(re.search(r"^fix=.*:(\d+)$", ready.read_text(encoding="utf-8"), re.MULTILINE)[1])

    def close(self):
        self.process.terminate()
        if self.process.wait(PATIENCE_S) != 0:
            raise AssertionError("the exchange did not end cleanly")


if fix:

    class Client(fix.Application):
        """One who trades; what came, in order, and what the engine refused."""

        def __init__(self, name, port, folder, transport, application):
            super().__init__()
            self.name, self.came, self.went = name, [], []
            self.changed = threading.Condition()
            settings = folder / f"{name}.cfg"
            settings.write_text(
                "[SESSION]\nBeginString=FIXT.1.1\nDefaultApplVerID=FIX.5.0SP2\nConnectionType=initiator\n"
                f"SenderCompID={name}\nTargetCompID=FGW\nSocketConnectHost=127.0.0.1\nSocketConnectPort={port}\n"
                "HeartBtInt=30\nReconnectInterval=1\nStartTime=00:00:00\nEndTime=00:00:00\n"
                f"UseDataDictionary=Y\nTransportDataDictionary={transport}\nAppDataDictionary={application}\n"
                "AllowUnknownMsgFields=Y\nValidateUserDefinedFields=N\n", encoding="utf-8")
            # The store in memory finds nothing for a request that begins with a number that was never sent.
            self.store = fix.FileStoreFactory(str(folder))
            self.initiator = fix.SocketInitiator(self, self.store, fix.SessionSettings(str(settings)))
            self.initiator.start()
            self.wait("a logon", lambda: self.of("35=A"))

        def note(self, where, message):
            with self.changed:
                where.append(message.toString().replace("\x01", "|"))
                self.changed.notify_all()

        def onCreate(self, session):
            self.session = session

        def onLogon(self, session):
            pass

        def onLogout(self, session):
            pass

        def toAdmin(self, message, session):
            if message.getHeader().getField(35) == "A":
                message.setField(553, self.name)
                message.setField(554, PASSWORD)
            self.note(self.went, message)

        def fromAdmin(self, message, session):
            self.note(self.came, message)

        def toApp(self, message, session):
            self.note(self.went, message)

        def fromApp(self, message, session):
            self.note(self.came, message)

        def of(self, *fields):
            return [text for text in self.came if all(f"|{field}|" in text for field in fields)]

        def wait(self, what, until):
            with self.changed:
                if not self.changed.wait_for(until, PATIENCE_S):
                    last = "\n  ".join(["came:", *self.came[-20:], "went:", *self.went[-6:]])
                    raise AssertionError(f"{self.name}: no {what}; {last}")
                return until()

        def forget_from(self, number):
            """Forgets what came from a number on, once the engine has counted the last: it does so behind fromApp."""
            session = fix.Session.lookupSession(self.session)
            end = time.monotonic() + PATIENCE_S
            while session.getExpectedTargetNum() != int(field(self.came[-1], 34)) + 1:
                if time.monotonic() > end:
                    raise AssertionError(f"{self.name}: not counted: {self.came[-1]}")
                time.sleep(0.001)
            session.setNextTargetMsgSeqNum(number)

        def states(self, order):
            """ExecType/OrdStatus of all reports about the order that was entered by this name."""
            first = self.of("35=8", f"11={order}")
            if not first:
                return ""
            number = re.search(r"\|37=(\w+)\|", first[0])[1]
            pairs = collections.OrderedDict(
                (field(text, 17), f"{field(text, 150)}/{field(text, 39)}") for text in self.of("35=8", f"37={number}"))
            return " ".join(pairs.values())

        def awaits(self, order, states):
            self.wait(f"{order} {states}", lambda: self.states(order) == states)

        def send(self, kind, **fields):
            message = fix.Message()
            message.getHeader().setField(35, kind)
            for tag, value in fields.items():
                message.setField(int(tag[1:]), str(value))
            message.setField(60, datetime.now(timezone.utc).strftime("%Y%m%d-%H:%M:%S.%f"))
            if kind != "q":
                trader = fix.Group(453, 448)
                for tag, value in ((448, "TRADER-1"), (447, "D"), (452, "76")):
                    trader.setField(tag, value)
                message.addGroup(trader)
            fix.Session.sendToTarget(message, self.session)

        def order(self, name, side, quantity, price):
            self.send("D", _11=name, _48=1, _22=8, _54=side, _40=2, _44=price, _38=quantity, _1138=quantity,
                      _581=1, _528="P")

        def close(self):
            self.initiator.stop()


def field(text, tag):
    found = re.search(rf"\|{tag}=([^|]*)\|", text)
    return found[1] if found else ""


@unittest.skipUnless(fix, "the module quickfix is not installed")
class Day(unittest.TestCase):
    """A day of two clients."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        folder = Path(self.folder.name)
        self.exchange = Exchange(folder)
        self.addCleanup(self.exchange.close)
        files = dictionaries(folder)
        self.ann, self.bob = (Client(name, self.exchange.port, folder, *files) for name in ("ANN", "BOB"))
        for client in (self.ann, self.bob):
            self.addCleanup(client.close)

    def test_another_engine_trades_and_fills_gaps(self):
        ann, bob = self.ann, self.bob
        ann.order("S1", SELL, 100, "10.00")
        ann.awaits("S1", "0/0")
        bob.order("B1", BUY, 30, "10.00")
        bob.awaits("B1", "F/2")
        ann.awaits("S1", "0/0 F/1")
        ann.send("G", _11="S2", _41="S1", _48=1, _22=8, _54=SELL, _40=2, _44="10.00", _38=90, _1138=60)
        ann.awaits("S1", "0/0 F/1 5/1")
        ann.send("F", _11="S3", _41="S2", _48=1, _22=8, _54=SELL)
        ann.awaits("S1", "0/0 F/1 5/1 4/4")
        ann.send("F", _11="S4", _41="S2", _48=1, _22=8, _54=SELL)
        ann.wait("a refused cancel", lambda: ann.of("35=9", "11=S4"))
        ann.order("S5", SELL, 10, "10.00")
        ann.awaits("S5", "0/0")
        ann.send("q", _11="Q1", _530=7)
        ann.wait("a report of the mass cancel", lambda: ann.of("35=r", "531=7"))
        ann.awaits("S5", "0/0 4/4")

        # A gap of the client, which the exchange asks for.
        session = fix.Session.lookupSession(ann.session)
        session.setNextSenderMsgSeqNum(session.getExpectedSenderNum() + 5)
        ann.order("S6", SELL, 10, "10.00")
        ann.wait("a resend request", lambda: ann.of("35=2"))
        ann.awaits("S6", "0/0")
        # And one of the exchange, which the client asks for.
        before = len(ann.of("35=8"))
        ann.forget_from(2)
        ann.order("S7", SELL, 10, "10.00")
        ann.wait("all of it again", lambda: len(ann.of("35=8", "43=Y")) >= before)
        ann.awaits("S7", "0/0")

        for client in (ann, bob):
            client.close()
            self.assertEqual(field(client.of("35=5")[0], 1409), "4")
            refused = [text for text in client.went if "|35=3|" in text or "|35=j|" in text]
            self.assertEqual(refused, [], "the engine took every message")
            for text in client.of("35=8"):
                if field(text, 39) in "01":
                    self.assertEqual(int(field(text, 14)) + int(field(text, 151)), int(field(text, 38)), text)


if __name__ == "__main__":
    unittest.main()
