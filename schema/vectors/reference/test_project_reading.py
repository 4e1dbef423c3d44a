"""Tests how the projector reads JSON and cuts responses into frames: sections 1 and 3 of docs/projections.md."""

import random
import unittest

from p20 import frames as framing
from p20.frames import Frame, cut, guess
from p20.join import join
from p20.strict import HUGE, Broken, read, read_slowly


class Strictly(unittest.TestCase):
    """Section 1."""

    def code(self, data):
        codes = set()
        for reader in (read, read_slowly):
            try:
                codes.add(repr(reader(data)))
            except Broken as broken:
                codes.add(broken.code)
        self.assertEqual(len(codes), 1, data)
        return codes.pop()

    def test_faults(self):
        for data, code in (
            (b'{"a":1,"\\u0061":2', "json_duplicate_key"), (b'{"a":1,"a"}', "json_syntax"),
            (b'["\xff', "json_invalid_utf8"), (b"1 2", "json_trailing_data"), (b"", "json_syntax"),
            (b"\xef\xbb\xbf1", "json_syntax"), (b"[NaN]", "json_syntax"), (b"-Infinity", "json_syntax"),
            (b'"\x01"', "json_syntax"), (b"[1.]", "json_syntax"), (b"01", "json_trailing_data"),
            (b"[" * 513, "json_too_deep"), (b"[" * 512, "json_syntax"), (b"\x0b1", "json_syntax"),
            (b"[" * 513 + b"]" * 513, "json_too_deep"), (b"[" * 5000, "json_too_deep"),
            (b"[" + b'{"a":' * 512 + b"1" + b"}" * 512 + b"]", "json_too_deep"),
        ):
            self.assertEqual(self.code(data), code, data[:20])

    def test_values(self):
        for data in (b"[" * 512 + b"]" * 512, b'{"b":1,"a":[true,false,null,-0,1.5,"x\\u00e9\\ud83d\\ude00"]}',
                     b'"\\ud800\\ud800\\udc00\\udc00"', b" \r\n\t{} ", b"1e400", b"9" * 5000,
                     b"[" + b",".join([b'{"a":["[{\\"\\\\"]}'] * 900) + b"]"):
            self.assertNotIn("json_", self.code(data))
        self.assertEqual(read(b"9" * 5000), HUGE)
        self.assertEqual(read(b'"\\ud83d\\ude00"'), "\U0001f600")
        self.assertEqual(list(read(b'{"b":1,"a":2}')), ["b", "a"])

    def test_both_readers_agree(self):
        rnd = random.Random(3)
        good = b'{"a":[1,-2.5e+3,"x\\n\\u00e9\\ud83d\\ude00\\ud800",{"b":null,"c":true}],"d":"\xc3\xa9","e":{}}'
        parts = [b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"\xff", b"\xe2\x82", b"\\ud800", b"\n",
                 b"\x00", b"-", b"0", b".", b'"a":1,', b"e", b" ", b"NaN", b"tru", b"\\u12"]
        for _ in range(20000):
            data = bytearray(good)
            for _ in range(rnd.randrange(1, 4)):
                at = rnd.randrange(len(data) + 1)
                data[at:at + rnd.choice((0, 0, 1, 3))] = rnd.choice(parts)
            self.code(bytes(data))

    def test_join(self):
        self.assertEqual(join(["a\ud83d", "", "\ude00b"]), "a\U0001f600b")
        self.assertEqual(join(["\ud83d", "\ude00", "\ude00"]), "\U0001f600\ude00")
        self.assertEqual(join(["\ud83d\ude00", "x"]), "\ud83d\ude00x")
        self.assertEqual(join([]), "")


class Frames(unittest.TestCase):
    """Section 3."""

    def data(self, data, kind):
        frames, malformed = cut(data, kind)
        self.assertEqual([frame.index for frame in frames], list(range(len(frames))))
        return [frame.data for frame in frames] + ([malformed] if malformed else [])

    def test_sse(self):
        for data, wanted in (
            (b'data: {"type":\ndata:"X"}\n\n', [b'{"type":\n"X"}']),
            (b"\xef\xbb\xbfdata: 1\r\n\r\ndata:2\r\rdata:  3\n\n", [b"1", b"2", b" 3"]),
            (b"data\n\ndata:\n\n", [b"", b""]), (b"data\ndata:x\n\n", [b"\nx"]),
            (b"data: 1\n", []), (b"data: 1\n\r", [b"1"]), (b"data: 1\n\ndata: 2", [b"1"]),
            (b":c\nevent: x\nid: 1\nData: x\ndata : x\ndatax: 1\n\n\n\n", []),
            (b"data: 1\nevent: y\ndata: 2\n\n", [b"1\n2"]), (b"data: \x0b\x85\n\n", [b"\x0b\x85"]),
            (b"\xef\xbb\xbf\xef\xbb\xbfdata: 1\n\n", []),
        ):
            self.assertEqual(self.data(data, "sse"), wanted, data)

    def test_sse_end(self):
        for data, end in ((b"data: 1\n\n", 9), (b"data: 1\r\n\r\n", 10), (b"\xef\xbb\xbfdata\r\r", 9)):
            self.assertEqual(cut(data, "sse")[0][0].end, end)

    def test_ndjson(self):
        self.assertEqual(self.data(b"\xef\xbb\xbf 1\r\n\r\n \t\n2\r3\n4", "ndjson"), [b"1", b"2\r3", b"4"])
        self.assertEqual([frame.end for frame in cut(b"1 \n\n2", "ndjson")[0]], [3, 5])

    def test_json(self):
        for data, wanted in (
            (b"[]", []), (b" [ \n] ", []), (b"[1, 2 ]", [b"1", b"2"]), (b"", [True]), (b"{}", [True]),
            (b"\xef\xbb\xbf[1]", [b"1"]), (b"[,]", [b"", b"", True]), (b"[1,]", [b"1", b"", True]),
            (b"[1,2", [b"1"]), (b"[1", []), (b"[", []), (b"[1]x", [b"1", True]), (b"[1],", [b"1", True]),
            (b'["a]\\",",[{],2]', [b'"a]\\","']), (b'["a]\\",",[{}],2]', [b'"a]\\","', b"[{}]", b"2"]),
            (b"[}1}]", [b"}1}"]), (b"[{],}]", [b"{]", b"}"]), (b'["\\', []), (b"[\\,1]", [b"\\", b"1"]),
        ):
            self.assertEqual(self.data(data, "json"), wanted, data)
        self.assertEqual([frame.end for frame in cut(b"[1 , 2]", "json")[0]], [4, 7])

    def test_reading(self):
        for data, wanted in ((b"[]", "event_not_object"), (b"{}", "event_type_missing"), (b"", "json_syntax"),
                             (b'{"type":""}', "event_type_missing"), (b'{"type":1}', "event_type_missing"),
                             (b'{"type":"\\ud800"}', "event_type_missing"), (b'{"type":"X"}', None)):
            frame = Frame(0, data, 0)
            frame.read()
            self.assertEqual((frame.fault, frame.kind), (wanted, None if wanted else "X"))

    def test_too_large(self):
        limit, framing.MAX_EVENT = framing.MAX_EVENT, 12
        try:
            frames = cut(b'{"type":"X"}\n{"type":"XY"}\n{"type":"Z"}', "ndjson")[0]
        finally:
            framing.MAX_EVENT = limit
        self.assertEqual([frame.fault or frame.kind for frame in frames], ["X", "event_too_large", "Z"])

    def test_guess(self):
        for data, wanted in ((b"", "sse"), (b"\xef\xbb\xbf \n[", "json"), (b" {", "ndjson"), (b"d", "sse"),
                             (b" " * 65536 + b"[", "sse"), (b" " * 65535 + b"[", "json")):
            self.assertEqual(guess(data), wanted)


if __name__ == "__main__":
    unittest.main()
