"""Tests without a server: input positions, output positions, text without escapes, trusted paths."""

from __future__ import annotations

import asyncio
import os
import random
import re
import tempfile
import unittest
from pathlib import Path
from typing import Any

from hawser import Gap, HawserError, Output, Resized
from hawser._locate import check_trusted
from hawser._outbox import OUTBOX_BYTES, Act, InputFlow, Outbox
from hawser._protocol import OutputFrame, ReceiptFrame, decode_frame, encode_consumed, encode_input, full_signal
from hawser._reader import Reader
from hawser._wait import Search


class Frames(unittest.TestCase):
    def test_are_what_the_protocol_says(self) -> None:
        self.assertEqual(encode_input(258, b"ab"), bytes.fromhex("00 0000000000000102 6162"))
        self.assertEqual(encode_consumed(1), bytes.fromhex("04 0000000000000001"))
        self.assertEqual(decode_frame(bytes.fromhex("02 0000000000000003 ff")), OutputFrame("stderr", 3, b"\xff"))
        self.assertEqual(decode_frame(bytes.fromhex("80 0000000000000002 0000000000000001")), ReceiptFrame(2, 1))

    def test_that_make_no_sense_are_refused(self) -> None:
        for text in ("", "01 00", "05 0000000000000001", "01 ffffffffffffffff", "80 0000000000000002"):
            with self.assertRaisesRegex(HawserError, "invalid frame"):
                decode_frame(bytes.fromhex(text))

    def test_signals_have_one_name(self) -> None:
        self.assertEqual([full_signal(name) for name in ("int", "SIGINT", "Int")], ["SIGINT"] * 3)
        with self.assertRaisesRegex(HawserError, "unknown signal 'NONE'"):
            full_signal("NONE")


class Server:
    """The other end of an outbox, as in docs/protocol/attach.md: accepts the next bytes, and drops what it already
    has.
    """

    def __init__(self) -> None:
        self.taken: list[int | str] = []

    def receive(self, position: int, piece: Any) -> None:
        units: list[int | str] = list(piece) if isinstance(piece, bytes) else [piece["type"]]
        assert position <= len(self.taken), f"a hole before {position}"
        self.taken += units[len(self.taken) - position :]


class Outboxes(unittest.TestCase):
    def test_every_unit_arrives_once_and_in_order_over_any_cuts(self) -> None:
        for seed in range(300):
            self._torture(random.Random(seed))

    def _torture(self, dice: random.Random) -> None:
        outbox, server = Outbox(), Server()
        expected: list[int | str] = []
        settled: list[int] = []
        asked = 0
        outbox.open(0, 0, 64)
        for _ in range(200):
            action = dice.randrange(6)
            if action == 0:
                data = dice.randbytes(dice.randrange(0, 50))
                expected += data
                outbox.add(data, lambda _, number=asked: settled.append(number))  # type: ignore[misc]
                asked += 1
            elif action == 1:
                expected.append("eof")
                outbox.add({"type": "eof"}, lambda _, number=asked: settled.append(number))  # type: ignore[misc]
                asked += 1
            elif action == 2:
                # A lost connection may lose input, and receipts for input that arrived.
                outbox.close()
                outbox.open(len(server.taken), len(server.taken), 64)
            elif action == 3:
                outbox.receipt(len(server.taken))
            elif (piece := outbox.take()) is not None and action == 4:
                server.receive(*piece)
            elif piece is not None:
                # It was lost, and so was everything sent after it.
                outbox.rewind(piece[0])
        while outbox._entries:
            while (piece := outbox.take()) is not None:
                server.receive(*piece)
            outbox.receipt(len(server.taken))
        self.assertEqual(server.taken, expected)
        # An empty input is settled at once.
        self.assertEqual(sorted(settled), list(range(asked)))

    def test_an_urgent_signal_goes_before_what_was_not_sent(self) -> None:
        outbox, done = Outbox(), list[str]()
        outbox.open(0, 0, 4)
        outbox.add(b"abcdef", lambda _: done.append("text"))
        self.assertEqual(outbox.take(), (0, b"abcd"))
        outbox.add({"type": "signal", "urgent": True}, lambda _: done.append("signal"))
        self.assertEqual(outbox.take(), (4, {"type": "signal", "urgent": True}))
        self.assertIsNone(outbox.take())
        outbox.receipt(5)
        self.assertEqual((outbox.take(), done), ((5, b"ef"), ["signal"]))
        outbox.receipt(7)
        self.assertEqual(done, ["signal", "text"])

    def test_what_was_not_sent_can_be_taken_back(self) -> None:
        outbox = Outbox()
        settles = [lambda _, n=n: self.fail(f"{n} was settled") for n in range(3)]  # type: ignore[misc]
        outbox.open(0, 0, 3)
        for settle, data in zip(settles, (b"one", b"two", b"three")):
            outbox.add(data, settle)
        self.assertEqual(outbox.take(), (0, b"one"))
        outbox.cancel(settles[0])
        outbox.cancel(settles[1])
        outbox.close()
        outbox.open(0, 0, 100)
        self.assertEqual([outbox.take(), outbox.take()], [(0, b"one"), (3, b"three")])

    def test_a_refused_act_fails_with_all_that_was_sent_after_it(self) -> None:
        async def main() -> None:
            outbox, sent, errors = Outbox(), list[str | bytes](), list[str]()
            flow = InputFlow(outbox, lambda error: None)
            flow.open(0, 0, 100, sent.append)
            inputs: list[bytes | Act] = [{"type": "resize"}, b"ab"]
            for input in inputs:
                outbox.add(input, lambda error: errors.append(str(error)))
            flow.pump()
            self.assertEqual(len(sent), 2)
            flow.refused(HawserError("unsupported", "no terminal"), 0)
            # The repeated refusal, for what was sent after it.
            outbox.add(b"c", lambda error: errors.append("taken" if error is None else str(error)))
            flow.refused(HawserError("invalid_argument", "a hole"), 0)
            self.assertEqual(sent[2], encode_input(0, b"c"))
            flow.receipt(1, 1)
            self.assertEqual(errors, ["no terminal (unsupported)", "no terminal (unsupported)", "taken"])
            flow.close()

        asyncio.run(main())

    def test_it_is_full_by_bytes_and_by_inputs(self) -> None:
        outbox = Outbox()
        outbox.add(bytes(OUTBOX_BYTES - 1), lambda _: None)
        self.assertFalse(outbox.is_full)
        outbox.add(b"x", lambda _: None)
        self.assertTrue(outbox.is_full)
        small = Outbox()
        for _ in range(4096):
            small.add(b"x", lambda _: None)
        self.assertTrue(small.is_full)

    def test_a_server_that_goes_on_where_nothing_was_sent_is_not_believed(self) -> None:
        with self.assertRaisesRegex(HawserError, "input position 5"):
            Outbox().open(5, 5, 100)


class Readers(unittest.IsolatedAsyncioTestCase):
    async def test_what_a_connection_repeats_is_left_out(self) -> None:
        reader, acknowledged = Reader(0), list[int]()
        reader.open(0, False, acknowledged.append)
        reader.output(OutputFrame("stdout", 0, b"abc"))
        reader.message({"type": "resized", "offset": 3, "cols": 1, "rows": 2})
        self.assertEqual(await reader.next(), Output("stdout", 0, b"abc"))
        reader.close()
        self.assertEqual(reader.ask(), 3)
        reader.open(3, False, acknowledged.append)
        reader.message({"type": "resized", "offset": 3, "cols": 1, "rows": 2})
        reader.message({"type": "resized", "offset": 3, "cols": 3, "rows": 4})
        reader.output(OutputFrame("stdout", 3, b"de"))
        self.assertEqual(
            [await reader.next() for _ in range(3)],
            [Resized(3, 1, 2), Resized(3, 3, 4), Output("stdout", 3, b"de")],
        )
        reader.close()

    async def test_a_part_of_a_frame_or_gap_that_is_new_is_told(self) -> None:
        reader = Reader(0)
        reader.open(0, False, lambda _: None)
        reader.output(OutputFrame("stdout", 0, b"abcd"))
        reader.close()
        reader.open(0, False, lambda _: None)
        reader.output(OutputFrame("stdout", 0, b"abcdef"))
        reader.message({"type": "gap", "from": 4, "to": 9, "reason": "live"})
        self.assertEqual(
            [await reader.next() for _ in range(3)],
            [Output("stdout", 0, b"abcd"), Output("stdout", 4, b"ef"), Gap(6, 9, "live")],
        )
        reader.close()

    async def test_a_hole_is_refused(self) -> None:
        reader = Reader(0)
        reader.open(0, False, lambda _: None)
        with self.assertRaisesRegex(HawserError, "output continues at byte 5, expected 0"):
            reader.output(OutputFrame("stdout", 5, b"x"))

    async def test_only_what_was_dealt_with_is_acknowledged(self) -> None:
        reader, acknowledged = Reader(0), list[int]()
        reader.open(0, False, acknowledged.append)
        for number in range(2):
            reader.output(OutputFrame("stdout", number * 40_000, bytes(40_000)))
        await reader.next()
        self.assertEqual(acknowledged, [])
        await reader.next()
        self.assertEqual(acknowledged, [40_000])
        reader.finish()
        self.assertEqual(acknowledged, [40_000, 80_000])


class Searches(unittest.TestCase):
    def test_a_match_says_where_to_go_on_among_escapes_and_bytes_that_are_no_text(self) -> None:
        whole = b"\xff\x1b[31m\xe2\x82\xac\x1b[0m!\x1b]0;title\x07 and more"
        for cut in range(len(whole)):
            search = Search(re.compile("€! and"))
            found = search.add(10, whole[:cut]) or search.add(10 + cut, whole[cut:])
            assert found is not None
            self.assertEqual(found[1], 10 + whole.index(b"and") + 3)

    def test_an_escape_that_has_only_begun_is_no_text(self) -> None:
        self.assertIsNone(Search(re.compile(r"\[3|31|title")).add(0, b"a\x1b[31"))
        self.assertIsNone(Search(re.compile(r"title")).add(0, b"a\x1b]0;title"))


class TrustedPaths(unittest.TestCase):
    def test_others_must_not_be_able_to_change_them(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "run" / "server.sock"
            check_trusted(str(path))
            path.parent.mkdir()
            check_trusted(str(path))
            path.parent.chmod(0o777)
            with self.assertRaisesRegex(HawserError, "others can write to"):
                check_trusted(str(path))
            link = Path(folder) / "link"
            link.symlink_to(path.parent)
            with self.assertRaisesRegex(HawserError, "others can write to"):
                check_trusted(str(link / "server.sock"))
            loop = Path(folder) / "loop"
            loop.symlink_to(loop)
            with self.assertRaisesRegex(HawserError, "too many links"):
                check_trusted(str(loop / "server.sock"))
            if os.getuid() == 0:
                os.chown(path.parent, 12345, 12345)
                with self.assertRaisesRegex(HawserError, "belongs to another user"):
                    check_trusted(str(path))


if __name__ == "__main__":
    unittest.main()
