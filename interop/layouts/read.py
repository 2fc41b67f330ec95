"""Reads bytes of the exchange by definitions that others wrote, and compares what they find.

    read.py CLASSES FILE...

CLASSES is a folder of classes that Kaitai Struct's compiler made. A line of a FILE is JSON: the protocol, whose
bytes these are, the bytes, and the messages with their fields as the exchange has them.
"""

import importlib.util
import json
import re
import sys
from collections import Counter
from enum import IntEnum
from pathlib import Path

from kaitaistruct import BytesIO, KaitaiStream, KaitaiStruct

# What the exchange does not have, and refuses.
REQUESTS_FOR_QUOTES = {
    "quote_request_message",
    "quote_status_report_message",
    "quote_request_reject_message",
    "rfq_quote_message",
    "quote_ack_message",
    "quote_response_message",
    "rfq_execution_report_message",
}
# A snapshot has a Time message of its own, which its definition has no name for.
UNNAMED = {("Level2Recovery", 0x54): "time_message"}
MARKET_DATA = {"Level2", "Level2Replay", "Level2Recovery"}
SIGN = 1 << 63
FAULTS_SHOWN = 20


class Reader:
    """Holds bytes to the definitions, and counts what it finds."""

    def __init__(self, folder):
        self.classes = {}
        for file in sorted(Path(folder).glob("*.py")):
            spec = importlib.util.spec_from_file_location(file.stem, file)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            (found,) = [
                it
                for it in vars(module).values()
                if isinstance(it, type) and issubclass(it, KaitaiStruct) and it is not KaitaiStruct
            ]
            self.classes[file.stem.split("_")[2]] = found
        self.faults = []
        self.kinds = Counter()
        self.values = Counter()
        # Where the definition reads a number another way than the document.
        self.disagreements = Counter()
        # Values of enumerations that the definition has no name for; samples have any.
        self.unnamed = Counter()

    def definition(self, protocol):
        return self.classes[protocol.lower()]

    def piece(self, piece):
        """Bytes of one protocol, which are whole messages."""
        protocol, data = piece["protocol"], bytes.fromhex(piece["bytes"])
        where = f"{protocol}, {piece['whose']}"
        try:
            root = parsed(self.definition(protocol), data)
            unnamed = Counter()
            found = list(self.messages(protocol, root, unnamed))
            if protocol == "Level2":
                self.unit(data, found)
        except (EOFError, ValueError) as error:
            self.faults.append(f"{where}: {error}")
            return
        if len(found) != len(piece["messages"]):
            self.faults.append(f"{where}: {len(found)} messages, {len(piece['messages'])} were sent")
        is_sample = piece["whose"] == "samples"
        if not is_sample:
            self.unnamed += unnamed
        for at, ((name, fields), (sent_name, sent)) in enumerate(zip(found, piece["messages"])):
            here = f"{where}, message {at}, {sent_name}"
            self.kinds[protocol, name] += 1
            if name != sent_name:
                self.faults.append(f"{here}: is {name}")
            else:
                self.compare(protocol, here, fields, sent, is_sample)

    def messages(self, protocol, root, unnamed):
        """Names and fields of all messages; heads of units are among them."""
        for unit in getattr(root, "tcp_unit", [root]):
            if hasattr(unit, "unit_header"):
                yield "unit_header", dict(flat(unit.unit_header))
                lengths = [it.message_header.message_length for it in unit.message]
                if 8 + sum(lengths) != unit.unit_header.length:
                    raise ValueError(f"messages of {lengths} in a unit of {unit.unit_header.length}")
            for message in unit.message:
                yield self.message(protocol, root, message, unnamed)

    def message(self, protocol, root, message, unnamed):
        kind, payload = message.message_header.message_type, message.payload
        if isinstance(kind, IntEnum):
            name = kind.name
        elif (protocol, kind) in UNNAMED:
            name = UNNAMED[protocol, kind]
            self.disagreements[f"{protocol}: no name for type {kind:#x}, {name}"] += 1
            payload = parsed(self.definition("Level2").TimeMessage, payload)
        else:
            raise ValueError(f"unknown type {kind:#x}")
        if isinstance(payload, bytes):
            if payload:
                raise ValueError(f"{name} has {len(payload)} bytes that nothing reads")
            return name, {}
        consumed(payload, name)
        for field, value in own(payload).items():
            has_names = hasattr(type(root), camel(field)) and isinstance(value, int)
            if has_names and not isinstance(value, IntEnum):
                unnamed[f"{protocol}: {field} {value}"] += 1
        return name, dict(flat(payload))

    def unit(self, data, found):
        """The same datagram by the definition that knows its frame alone."""
        unit = parsed(self.definition("UdpUnitHeader"), data)
        if dict(flat(unit.unit_header)) != found[0][1] or len(unit.message) != len(found) - 1:
            raise ValueError("definitions of units differ")

    def compare(self, protocol, here, found, sent, is_sample):
        for name in sorted(sent.keys() - found.keys()):
            self.faults.append(f"{here}: {name} is not there")
        for name, value in found.items():
            if name in sent:
                self.values[protocol] += 1
                if not self.is_same(protocol, name, value, sent[name]):
                    self.faults.append(f"{here}: {name} is {value!r}, {sent[name]!r} was sent")
            elif not re.search("reserved|unused", name):
                self.faults.append(f"{here}: {name} is {value!r}, and nobody said so")
            # Samples set bits that have no meaning, too.
            elif not (is_sample and "." in name) and not is_nothing(value):
                self.faults.append(f"{here}: {name} is {value!r}, and should be nothing")

    def is_same(self, protocol, name, found, sent):
        if isinstance(found, bytes):
            found = found.decode("ascii")
        if isinstance(found, str) and isinstance(sent, int):
            return len(found) == 1 and ord(found) == sent
        if isinstance(found, str):
            found = found.rstrip(" ") if protocol in MARKET_DATA else found.rstrip("\0")
            return found == sent
        if found == sent:
            return True
        # A definition has signed numbers only, a document times behind 2038 ...
        if name.endswith("seconds") and found + (1 << 32) == sent:
            self.disagreements[f"{protocol}: {name} is signed, {sent} is {found}"] += 1
            return True
        # ... and prices of market data with a sign and a magnitude.
        if protocol in MARKET_DATA and name.endswith("price") and found < 0 and -(found + SIGN) == sent:
            self.disagreements[f"{protocol}: {name} is in two's complement, {sent} is {found}"] += 1
            return True
        return False


def parsed(definition, data):
    found = definition(KaitaiStream(BytesIO(data)))
    consumed(found, definition.__name__)
    return found


def consumed(found, name):
    left = found._io.size() - found._io.pos()
    if left:
        raise ValueError(f"{name} leaves {left} bytes")


def flat(found, prefix=""):
    """Fields and their values; a structure of one field is that field."""
    for name, value in vars(found).items():
        if name.startswith("_"):
            continue
        while isinstance(value, KaitaiStruct) and len(own(value)) == 1:
            (value,) = own(value).values()
        if isinstance(value, KaitaiStruct):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def own(found):
    return {name: value for name, value in vars(found).items() if not name.startswith("_")}


def camel(name):
    return "".join(word.capitalize() for word in name.split("_"))


def is_nothing(value):
    return not any(value) if isinstance(value, bytes) else not value


def never_seen(reader):
    """Types that a definition has and no sample was of."""
    for protocol in ["NativeTradingGateway", "NativeTradingGatewayRecovery", *sorted(MARKET_DATA)]:
        for kind in reader.definition(protocol).MessageType:
            is_built = kind.name not in REQUESTS_FOR_QUOTES
            if is_built and not reader.kinds[protocol, kind.name]:
                yield f"{protocol}: no {kind.name}"


def report(file, reader):
    for protocol in sorted(reader.values):
        kinds = {name: count for (of, name), count in reader.kinds.items() if of == protocol}
        messages = sum(count for name, count in kinds.items() if name != "unit_header")
        types = len(kinds.keys() - {"unit_header"})
        print(f"{file}: {protocol}: {messages} messages of {types} types, {reader.values[protocol]} values")
    for title, found in [
        ("the document decides", reader.disagreements),
        ("has no name", reader.unnamed),
    ]:
        for text, count in sorted(found.items()):
            print(f"{file}: {title}: {text} ({count} times)")


def main(folder, files):
    faults = []
    for file in map(Path, files):
        reader = Reader(folder)
        for line in file.read_text().splitlines():
            reader.piece(json.loads(line))
        if file.stem == "samples":
            reader.faults += never_seen(reader)
        report(file.stem, reader)
        faults += [f"{file.stem}: {fault}" for fault in reader.faults]
    for fault in faults[:FAULTS_SHOWN]:
        print(f"FAIL: {fault}")
    print(f"interop/layouts: FAILED, {len(faults)} faults" if faults else "interop/layouts: passed")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
