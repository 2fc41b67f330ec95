"""QuickFIX for C++, by its Python module, as a client of the exchange's FIX door: another engine's day.

    TAPELINE=FILE python3 -m unittest test_cpp

It runs where the module `quickfix` is installed, which `scripts/prerequisites.sh test` does in .tools/quickfix.
"""

import collections
import itertools
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from datetime import datetime, timedelta, timezone
from pathlib import Path
from xml.etree import ElementTree

try:
    import quickfix as fix
except ImportError:
    fix = None

PATIENCE_S = 30
PASSWORD = "secret"
BUY, SELL = 1, 2

NOON_S = 43_200
BOOKS = 12
# Long enough for a start and two logons on a busy machine.
REGULAR_S, CLOSING_CALL_S, END_S = 15, 18, 21


def market(day):
    """A market whose local time has its noon now, with books from 1 on and two users."""
    offset = NOON_S - int(time.time()) % 86_400
    books = "".join(
        f"""[[instrument]]
id = {book}
name = "NAME-{book}"
tick = "0.05"
previous-close = "100.00"
""" for book in range(1, BOOKS + 1))
    users = "".join(
        f"""[[user]]
name = "{name}"
password = "{PASSWORD}"
firm = {firm}
auto-cancel = false
""" for firm, name in enumerate(("ANN", "BOB"), 1))
    lines = '[market-data]\nline-a = "127.0.0.1:9"\nline-b = "127.0.0.1:9"\n'
    return f"[day]\nutc-offset-s = {offset}\n{day}{lines}{books}{users}"


def turns(*turns):
    return 'sessions = "turns"\n' + "".join(
        f'[[day.turn]]\nat-s = {at}\nsession = "{session}"\n' for at, session in turns)


def dictionaries(folder):
    """Copies of the library's own, with what of the exchange's they lack and these messages have."""
    stock = Path(sys.prefix, "share", "quickfix")
    application = ElementTree.parse(stock / "FIX50SP2.xml")
    ElementTree.SubElement(
        application.find("fields/field[@name='ExecRestatementReason']"), "value", enum="100", description="REPLENISHED")
    good_for_auctions = application.find("fields/field[@name='TimeInForce']")
    ElementTree.SubElement(good_for_auctions, "value", enum="C", description="EVERY_AUCTION")
    application.find("messages/message[@msgtype='r']/field[@name='OrderID']").set("required", "N")
    application.write(folder / "application.xml")
    return stock / "FIXT11.xml", folder / "application.xml"


class Exchange:
    """The exchange as a process, at ports that the system chooses."""

    def __init__(self, folder, text):
        market, ready = folder / "market.toml", folder / "ready"
        market.write_text(text, encoding="utf-8")
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

        # The engine finds sessions by their names, also those of a test before this one that failed.
        made = itertools.count()

        def __init__(self, name, port, folder, transport, application):
            super().__init__()
            self.name, self.came, self.went = name, [], []
            self.changed = threading.Condition()
            settings = folder / f"{name}.cfg"
            settings.write_text(
                "[SESSION]\nBeginString=FIXT.1.1\nDefaultApplVerID=FIX.5.0SP2\nConnectionType=initiator\n"
                f"SenderCompID={name}\nTargetCompID=FGW\nSessionQualifier={next(self.made)}\n"
                f"SocketConnectHost=127.0.0.1\nSocketConnectPort={port}\n"
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

        def order(self, name, side, quantity, price=None, book=1, **fields):
            """A limit order of the day, or one at any price, unless the fields say otherwise."""
            of = dict(_11=name, _48=book, _22=8, _54=side, _40=2 if price else 1, _38=quantity, _1138=quantity,
                      _581=1, _528="P")
            if price:
                of["_44"] = price
            self.send("D", **{**of, **fields})

        def admin(self, kind, **fields):
            """A message of the session, which the engine gives its number."""
            message = fix.Message()
            message.getHeader().setField(35, kind)
            for tag, value in fields.items():
                message.setField(int(tag[1:]), str(value))
            fix.Session.sendToTarget(message, self.session)

        def close(self):
            self.initiator.stop()


def field(text, tag):
    found = re.search(rf"\|{tag}=([^|]*)\|", text)
    return found[1] if found else ""


@unittest.skipUnless(fix, "the module quickfix is not installed")
class Venue(unittest.TestCase):
    """An exchange and two clients."""

    def start(self, day):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = Path(folder.name)
        exchange = Exchange(path, market(day))
        self.addCleanup(exchange.close)
        files = dictionaries(path)
        clients = [Client(name, exchange.port, path, *files) for name in ("ANN", "BOB")]
        for client in clients:
            self.addCleanup(client.close)
        return clients

    def leave(self, *clients):
        """Both log out; what they were told adds up, and the engine took all of it."""
        for client in clients:
            client.close()
            self.assertEqual(field(client.of("35=5")[0], 1409), "4")
            refused = [text for text in client.went if "|35=3|" in text or "|35=j|" in text]
            self.assertEqual(refused, [], "the engine took every message")
            for text in client.of("35=8"):
                if field(text, 39) in "01":
                    self.assertEqual(int(field(text, 14)) + int(field(text, 151)), int(field(text, 38)), text)


class Trading(Venue):
    """Regular trading."""

    def setUp(self):
        self.ann, self.bob = self.start('sessions = "open"\n')

    def test_each_type_and_time_in_force(self):
        ann, bob = self.ann, self.bob
        # Of the first book: what is there at once, wholly or not at all; what is left of it expires.
        ann.order("A1", SELL, 30, "10.00")
        ann.awaits("A1", "0/0")
        bob.order("B1", BUY, 100, "10.00", _59=4)
        bob.awaits("B1", "C/C")
        bob.order("B2", BUY, 10, "10.00", _59=4)
        bob.awaits("B2", "F/2")
        bob.order("B3", BUY, 15, "10.00", _59=3)
        bob.awaits("B3", "F/2")
        bob.order("B4", BUY, 100)
        bob.awaits("B4", "F/1 C/C")
        ann.awaits("A1", "0/0 F/1 F/1 F/2")

        # Of the second one: stops, which a trade at 10.20 elects; the limit of one is below what is offered.
        ann.order("P1", SELL, 1, "10.00", book=2)
        ann.awaits("P1", "0/0")
        bob.order("P2", BUY, 1, "10.00", book=2)
        bob.awaits("P2", "F/2")
        bob.order("B5", BUY, 10, book=2, _40=3, _99="10.20")
        bob.order("B6", BUY, 10, "10.10", book=2, _40=4, _99="10.20")
        bob.awaits("B5", "9/9")
        bob.awaits("B6", "9/9")
        ann.order("A2", SELL, 15, "10.25", book=2)
        ann.order("A3", SELL, 1, "10.20", book=2)
        ann.awaits("A3", "0/0")
        bob.order("B7", BUY, 1, "10.20", book=2)
        bob.awaits("B5", "9/9 F/2")
        bob.awaits("B6", "9/9 0/0")

        # An iceberg shows its next part; a hidden order trades behind what is shown.
        ann.order("A4", SELL, 100, "10.00", book=3, _1138=20)
        ann.awaits("A4", "0/0")
        bob.order("B8", BUY, 20, "10.00", book=3)
        ann.awaits("A4", "0/0 F/1 D/1")
        ann.order("A5", SELL, 50, "10.00", book=4, _1138=0, _1084=4)
        ann.order("A6", SELL, 50, "10.00", book=4)
        ann.awaits("A6", "0/0")
        bob.order("B9", BUY, 60, "10.00", book=4)
        ann.awaits("A6", "0/0 F/2")
        ann.awaits("A5", "0/0 F/1")

        # Passive only; and those that wait for auctions, or for the clock.
        bob.order("B10", BUY, 10, "10.00", book=3, _27010=99)
        bob.awaits("B10", "C/C")
        for code in "279C":
            ann.order(f"W{code}", BUY, 10, "9.00", book=5, _59=code)
            ann.awaits(f"W{code}", "9/9")
        now = datetime.now(timezone.utc)
        ann.order("T1", BUY, 10, "9.00", book=5, _59=6, _126=(now + timedelta(seconds=3)).strftime("%Y%m%d-%H:%M:%S"))
        ann.order("T2", BUY, 10, "9.00", book=5, _59=6, _432=(now + timedelta(days=1)).strftime("%Y%m%d"))
        ann.awaits("T2", "0/0")
        ann.awaits("T1", "0/0 C/C")
        self.leave(ann, bob)

    def test_the_session_is_asked_and_set_anew(self):
        ann = self.ann
        ann.admin("1", _112="ARE-YOU-THERE")
        ann.wait("a heartbeat", lambda: ann.of("35=0", "112=ARE-YOU-THERE"))
        session = fix.Session.lookupSession(ann.session)
        following = session.getExpectedSenderNum() + 100
        ann.admin("4", _123="N", _36=following)
        session.setNextSenderMsgSeqNum(following)
        ann.order("S1", SELL, 10, "10.00")
        ann.awaits("S1", "0/0")
        self.assertEqual(ann.of("35=2"), [], "nothing was missed")
        self.leave(ann, self.bob)

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

        self.leave(ann, bob)


class Day(Venue):
    """A trading day of seconds: opening call and auction, trading, closing call and auction, the end."""

    def test_a_whole_day_is_told_in_reports(self):
        ann, bob = self.start(turns(
            (0, "opening-call"), (NOON_S + REGULAR_S, "regular"), (NOON_S + CLOSING_CALL_S, "closing-call"),
            (NOON_S + END_S, "market-close")))
        # At 101.00 the most can be traded, 500.
        ann.order("B1", BUY, 200, "102.00")
        ann.order("B2", BUY, 300, "101.00")
        ann.order("B3", BUY, 100, "100.00")
        ann.order("B4", BUY, 10, "90.00", _59="C")
        ann.order("B5", BUY, 10, "102.00", _59=3)
        bob.order("S1", SELL, 150, "99.00")
        bob.order("S2", SELL, 150, "100.00", _59=9)
        bob.order("S3", SELL, 250, "101.00")
        bob.order("S4", SELL, 40, "105.00", _59=2)
        bob.order("S5", SELL, 60, _59=7)
        ann.awaits("B5", "8/8")

        ann.awaits("B1", "0/0 F/1 F/2")
        ann.awaits("B2", "0/0 F/1 F/2")
        bob.awaits("S1", "0/0 F/2")
        bob.awaits("S2", "0/0 F/1 F/2")
        bob.awaits("S4", "0/0 C/C")
        # The closing orders sell to what is left of the bids; the rest ends with the day.
        bob.awaits("S5", "9/9 0/0 F/2")
        ann.awaits("B3", "0/0 F/1 C/C")
        bob.awaits("S3", "0/0 F/1 C/C")
        ann.awaits("B4", "0/0 9/9 0/0 9/9 C/C")

        for client in (ann, bob):
            sizes = collections.Counter()
            for text in client.of("35=8", "150=F"):
                self.assertEqual(field(text, 851), "4", "in an auction")
                sizes[float(field(text, 31))] += int(field(text, 32))
            self.assertEqual(sizes, {101.0: 500, 100.0: 60})
        self.leave(ann, bob)


if __name__ == "__main__":
    unittest.main()
