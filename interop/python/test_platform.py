"""A deployed-platform session of the vendor's Python library, and what it does on one.

LIBRARY names the library, as `lseg.data`, and TAPELINE the program under test.
"""

import importlib
import json
import os
import shutil
import tempfile
import threading
import time
import unittest
from pathlib import Path

from tapeline import IMAGE, SERVICE, UPDATES, System

LIBRARY = os.environ["LIBRARY"]
ITEMS = ["ONE.N", "TWO.N", "THREE.N"]
FIELDS = ["BID", "ASK"]
# Generous: it is what a test takes when it fails.
WAIT_SECONDS = 60


def configure(folder, url):
    """Writes the library's configuration file and has the library read it."""
    deployed = {
        "app-key": "none",
        "signon_control": True,
        "realtime-distribution-system": {
            "url": url,
            "dacs": {"username": "tester", "application-id": "256", "position": "127.0.0.1/net"},
        },
    }
    config = {
        "logs": {"level": "error", "transports": {"console": {"enabled": False},
                                                  "file": {"enabled": False}}},
        "sessions": {"default": "platform.deployed", "platform": {"deployed": deployed}},
    }
    name = LIBRARY.replace(".", "-") + ".config.json"
    Path(folder, name).write_text(json.dumps(config), encoding="utf-8")
    for variable in ("LD_LIB_CONFIG_PATH", "RD_LIB_CONFIG_PATH"):
        os.environ[variable] = folder


class Inbox:
    """What the callbacks of a stream were given, to be waited for."""

    def __init__(self, stream):
        self.changed = threading.Condition()
        self.refreshes, self.updates, self.statuses = [], [], []
        stream.on_refresh(lambda message, item, _: self.add(self.refreshes, item, message))
        stream.on_update(lambda message, item, _: self.add(self.updates, item, message))
        stream.on_status(lambda message, item, _: self.add(self.statuses, item, message))

    def add(self, where, item, message):
        with self.changed:
            where.append((item, message))
            self.changed.notify_all()

    def wait_for(self, what, condition):
        with self.changed:
            if not self.changed.wait_for(condition, WAIT_SECONDS):
                raise AssertionError(
                    f"{what}: did not come; {len(self.updates)} updates, refreshes "
                    f"{self.refreshes[-3:]}, statuses {self.statuses[-3:]}"
                )

    def quotes(self, item):
        """The distinct quotes that came for an item, in whatever order."""
        return {quote_of(message) for name, message in self.updates if name == item}


def quote_of(message):
    """Bid and ask of a message, or of its fields alone."""
    fields = message.get("Fields", message)
    return fields["BID"], fields["ASK"]


def state_of(message):
    state = message.get("State", message)
    return state.get("Stream"), state.get("Data"), state.get("Code")


class Platform(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.system = System(ITEMS)
        cls.addClassCleanup(cls.system.stop)
        cls.folder = tempfile.mkdtemp(prefix="tapeline-python")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        configure(cls.folder, cls.system.url)
        cls.library = importlib.import_module(LIBRARY)
        cls.pricing = importlib.import_module(f"{LIBRARY}.content.pricing")

    def setUp(self):
        self.session = self.library.session.platform.Definition(name="deployed").get_session()
        self.addCleanup(self.session.close)
        opened = self.session.open()
        self.assertEqual(opened.name, "Opened")

    def stream(self, *items, service=SERVICE):
        definition = self.pricing.Definition(universe=list(items), fields=FIELDS, service=service)
        stream = definition.get_stream(session=self.session)
        self.addCleanup(stream.close)
        return stream, Inbox(stream)

    def opened(self, *items):
        """A stream that the items of the source are on: the source is there by then."""
        stream, inbox = self.stream(*items)
        stream.open()
        inbox.wait_for("images", lambda: {item for item, _ in inbox.refreshes} >= set(items))
        return stream, inbox

    def test_items_stream_the_values_that_are_published(self):
        stream, inbox = self.opened(*ITEMS)
        published = set(UPDATES)
        for item, message in inbox.refreshes:
            self.assertIn(quote_of(message), published | {IMAGE}, item)
            self.assertEqual(set(message.get("Fields", message)), set(FIELDS), "the view")
        for item in ITEMS:
            inbox.wait_for(f"updates of {item}", lambda: inbox.quotes(item) >= published)
            self.assertEqual(inbox.quotes(item), published)
            self.assertIn((stream[item]["BID"], stream[item]["ASK"]), published)

    def test_a_snapshot_is_an_image_and_then_nothing(self):
        self.opened(ITEMS[0])
        stream, inbox = self.stream(*ITEMS)
        stream.open(with_updates=False)
        inbox.wait_for("images", lambda: {item for item, _ in inbox.refreshes} == set(ITEMS))
        snapshot = stream.get_snapshot()
        self.assertEqual(list(snapshot["Instrument"]), ITEMS)
        for bid, ask in zip(snapshot["BID"], snapshot["ASK"]):
            self.assertIn((bid, ask), set(UPDATES) | {IMAGE})
        # Others go on meanwhile.
        _, later = self.opened(*ITEMS)
        later.wait_for("updates", lambda: len(later.updates) >= 10)
        self.assertEqual(inbox.updates, [])

    def test_an_item_that_is_not_there_is_suspect_and_the_others_are_not(self):
        self.opened(ITEMS[0])
        stream, inbox = self.stream("NONE.N", ITEMS[0])
        stream.open()
        inbox.wait_for("a status", lambda: inbox.statuses)
        item, message = inbox.statuses[0]
        self.assertEqual(item, "NONE.N")
        self.assertEqual(state_of(message)[:2], ("Open", "Suspect"))
        inbox.wait_for("updates", lambda: inbox.quotes(ITEMS[0]) >= set(UPDATES))

    def test_an_item_of_an_unknown_service_is_refused_and_its_session_lives(self):
        self.opened(ITEMS[0])
        stream, inbox = self.stream("NONE.N", service="NO_SUCH_SERVICE")
        stream.open()
        inbox.wait_for("a status", lambda: inbox.statuses)
        _, message = inbox.statuses[0]
        self.assertEqual(state_of(message), ("ClosedRecover", "Suspect", "SourceUnknown"))
        _, other = self.opened(ITEMS[0])
        other.wait_for("updates", lambda: other.updates)

    def test_streams_come_back_by_themselves_when_the_server_does(self):
        _, inbox = self.opened(*ITEMS)
        inbox.wait_for("updates", lambda: len(inbox.updates) >= 10)
        with inbox.changed:
            inbox.refreshes.clear()
        self.system.restart()
        with inbox.changed:
            # The old server may have sent some to its end.
            inbox.updates.clear()
        images = lambda: {item for item, _ in inbox.refreshes} >= set(ITEMS)
        inbox.wait_for("images of the new server", images)
        for item in ITEMS:
            inbox.wait_for(f"updates of {item}", lambda: inbox.quotes(item) >= set(UPDATES))
        states = [state_of(message) for _, message in inbox.statuses]
        self.assertEqual([state for state in states if state[0] not in (None, "Open")], [])

    def test_a_stream_that_is_closed_is_silent_and_its_session_lives(self):
        closing, inbox = self.opened(*ITEMS)
        inbox.wait_for("updates", lambda: len(inbox.updates) >= 10)
        self.assertEqual(closing.close().name, "Closed")
        _, other = self.opened(ITEMS[0])
        # What was on its way, or in the library, has come by then.
        other.wait_for("updates", lambda: len(other.updates) >= 10)
        with inbox.changed:
            count = len(inbox.updates)
        other.wait_for("more updates", lambda: len(other.updates) >= 30)
        self.assertEqual(len(inbox.updates), count)
        self.session.close()
        self.assertEqual(self.session.open_state.name, "Closed")


if __name__ == "__main__":
    unittest.main(verbosity=2)
