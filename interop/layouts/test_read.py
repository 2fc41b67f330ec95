"""That the reader finds what is wrong; with a definition made by hand, as the compiler would make it."""

import tempfile
import unittest
from enum import IntEnum

from kaitaistruct import BytesIO, KaitaiStream, KaitaiStruct

import read


class Level2Replay(KaitaiStruct):
    """Units of orders, which have a side, a price, a reserved byte, and bits."""

    class MessageType(IntEnum):
        order_message = 0x41

    class Side(IntEnum):
        buy_order = 0x42

    class Unit(KaitaiStruct):
        def __init__(self, io):
            super().__init__(io)
            self.unit_header = Level2Replay.Header(io)
            self.message = [Level2Replay.Message(io) for _ in range(self.unit_header.message_count)]

    class Header(KaitaiStruct):
        def __init__(self, io):
            super().__init__(io)
            self.length = io.read_u2le()
            self.message_count = io.read_u1()
            self.market_data_group = io.read_bytes(1).decode("ascii")
            self.sequence_number = io.read_u4le()

    class Message(KaitaiStruct):
        def __init__(self, io):
            super().__init__(io)
            self.message_header = Level2Replay.MessageHeader(io)
            self.payload = io.read_bytes(self.message_header.message_length - 2)
            if self.message_header.message_type == 0x41:
                self.payload = Level2Replay.Order(KaitaiStream(BytesIO(self.payload)))

    class MessageHeader(KaitaiStruct):
        def __init__(self, io):
            super().__init__(io)
            self.message_length = io.read_u1()
            self.message_type = KaitaiStream.resolve_enum(Level2Replay.MessageType, io.read_u1())

    class Order(KaitaiStruct):
        def __init__(self, io):
            super().__init__(io)
            self.side = KaitaiStream.resolve_enum(Level2Replay.Side, io.read_u1())
            self.price = io.read_s8le()
            self.reserved_1 = io.read_bytes(1)
            self.flags = Level2Replay.Flags(io)

    class Flags(KaitaiStruct):
        def __init__(self, io):
            super().__init__(io)
            self.cancelled = io.read_bits_int_le(1) != 0
            self.unused_7 = io.read_bits_int_le(7)

    def __init__(self, io):
        super().__init__(io)
        self.tcp_unit = []
        while not io.is_eof():
            self.tcp_unit.append(Level2Replay.Unit(io))


ORDER = {"side": 0x42, "price": 5, "flags.cancelled": 1}


def unit(order="0d41" "42" "0500000000000000" "00" "01", length=21):
    return length.to_bytes(2, "little").hex() + "01" "41" "07000000" + order


class Faults(unittest.TestCase):
    def read(self, data, fields=ORDER, length=21):
        with tempfile.TemporaryDirectory() as nothing:
            self.reader = read.Reader(nothing)
        self.reader.classes["level2replay"] = Level2Replay
        header = {"length": length, "message_count": 1, "market_data_group": 0x41, "sequence_number": 7}
        messages = [["unit_header", header], ["order_message", fields]]
        piece = {"protocol": "Level2Replay", "whose": "test", "bytes": data, "messages": messages}
        self.reader.piece(piece)
        return self.reader.faults

    def test_what_was_sent_is_found(self):
        self.assertEqual(self.read(unit()), [])
        self.assertEqual(self.reader.values["Level2Replay"], 7)

    def test_another_value_is_a_fault(self):
        (fault,) = self.read(unit(), ORDER | {"price": 6})
        self.assertIn("price is 5, 6 was sent", fault)

    def test_another_bit_is_a_fault(self):
        (fault,) = self.read(unit(), ORDER | {"flags.cancelled": 0})
        self.assertIn("flags.cancelled is True, 0 was sent", fault)

    def test_a_field_that_nobody_sent_is_a_fault(self):
        fields = {name: value for name, value in ORDER.items() if name != "side"}
        (fault,) = self.read(unit(), fields)
        self.assertIn("nobody said so", fault)

    def test_a_field_that_is_not_there_is_a_fault(self):
        (fault,) = self.read(unit(), ORDER | {"size": 1})
        self.assertIn("size is not there", fault)

    def test_what_is_reserved_is_nothing(self):
        (fault,) = self.read(unit("0d41" "42" "0500000000000000" "07" "01"))
        self.assertIn("should be nothing", fault)

    def test_bits_without_a_meaning_are_nothing(self):
        (fault,) = self.read(unit("0d41" "42" "0500000000000000" "00" "03"))
        self.assertIn("flags.unused_7 is 1, and should be nothing", fault)

    def test_bytes_that_are_left_are_a_fault(self):
        (fault,) = self.read(unit("0e41" "42" "0500000000000000" "00" "01" "00", 22), length=22)
        self.assertIn("order_message leaves 1 bytes", fault)

    def test_half_of_a_message_is_a_fault(self):
        (fault,) = self.read(unit()[:-2])
        self.assertIn("requested", fault)

    def test_lengths_add_up(self):
        (fault,) = self.read(unit(length=22), length=22)
        self.assertIn("in a unit of 22", fault)

    def test_an_unknown_type_is_a_fault(self):
        (fault,) = self.read(unit("0342" "00", 11), length=11)
        self.assertIn("unknown type 0x42", fault)

    def test_a_price_below_zero_is_as_the_document_has_it(self):
        data = unit("0d41" "42" "0500000000000080" "00" "01")
        self.assertEqual(self.read(data, ORDER | {"price": -5}), [])
        self.assertEqual(sum(self.reader.disagreements.values()), 1)
        self.assertEqual(len(self.read(data, ORDER | {"price": -6})), 1)

    def test_values_without_a_name_are_counted(self):
        data = unit("0d41" "43" "0500000000000000" "00" "01")
        self.assertEqual(self.read(data, ORDER | {"side": 0x43}), [])
        self.assertEqual(self.reader.unnamed, {"Level2Replay: side 67": 1})


if __name__ == "__main__":
    unittest.main()
