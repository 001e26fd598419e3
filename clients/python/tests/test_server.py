"""Tests the client against the real server of HAWSER_STATE_DIR."""

from __future__ import annotations

import asyncio
import json
import os
import re
import tempfile
import unittest
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta, timezone
from hashlib import sha1
from pathlib import Path
from typing import Any
from unittest.mock import patch

from websockets.client import connect
from websockets.typing import Subprotocol

import hawser
import hawser.sync
from hawser import HawserError

STATE_DIR = Path(os.environ["HAWSER_STATE_DIR"])
#: Every byte value, longer than the server's windows, without bytes that a terminal would translate.
BLOB = bytes(range(256)) * 4096 * 3


def server_url() -> str:
    return str(json.loads((STATE_DIR / "server.json").read_text())["url"])


def admin_token() -> str:
    return (STATE_DIR / "admin-token").read_text().strip()


async def reading(attachment: hawser.Attachment) -> bytes:
    return b"".join([data async for data in attachment.chunks()])


class Case(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        # The loop warns about steps over 0.1 s, which any step takes on a busy machine.
        asyncio.get_running_loop().slow_callback_duration = 30
        self.client = await self.enterAsyncContext(hawser.locate())

    async def start(self, argv: list[str] | None = None, **options: Any) -> hawser.Session:
        """A session that is deleted after the test."""
        session = await self.client.create(argv, **options)

        async def forget() -> None:
            try:
                await session.remove()
            except HawserError as error:
                self.assertEqual(error.code, "session_not_found")

        self.addAsyncCleanup(forget)
        return session

    async def failing(self, code: str, work: Awaitable[object]) -> HawserError:
        with self.assertRaises(HawserError) as caught:
            await asyncio.wait_for(work, 20)
        self.assertEqual(caught.exception.code, code)
        return caught.exception


class Sessions(Case):
    async def test_are_created_listed_looked_at_ended_and_forgotten(self) -> None:
        session = await self.start(["cat"], mode="pipe", labels={"made": "here"}, name="python")
        self.assertEqual([info["id"] for info in await self.client.list(label=["made=here"])], [session.id])
        self.assertEqual((await (await self.client.get(session.id)).info())["name"], "python")
        ended = await session.kill(signal="TERM", grace=5)
        assert ended["exit"] is not None
        self.assertEqual((ended["state"], ended["exit"]["signal"]), ("closed", "SIGTERM"))
        await session.remove()
        error = await self.failing("session_not_found", self.client.get(session.id))
        self.assertEqual(error.status, 404)

    async def test_are_found_by_name_in_either_order_and_renamed(self) -> None:
        first = await self.start(["true"], name="found", workspace="named")
        await first.wait()
        second = await self.start(["cat"], name="found", workspace="named")
        other = await self.start(["cat"], name="other", workspace="named")
        found = await self.client.list(name="found", order="newest")
        self.assertEqual([info["id"] for info in found], [second.id, first.id])
        everything = await self.client.list(workspace="named")
        self.assertEqual([info["id"] for info in everything], [first.id, second.id, other.id])
        self.assertEqual((await other.rename("another"))["name"], "another")
        self.assertEqual(await self.client.list(name="other"), [])

    async def test_are_controlled_for_a_time_and_given_back(self) -> None:
        session = await self.start(["cat"], mode="pipe")
        lease = await session.take_lease(ttl=60)
        self.assertTrue(lease["exclusive"])
        fence = lease["fence"]
        await self.failing("not_writable", session.write("no"))
        await session.write("yes", fence=fence)
        self.assertEqual((await session.take_lease(fence=fence, ttl=30))["fence"], fence)
        self.assertIsNone((await session.release_lease(fence=fence))["holder"])
        await session.write(" again")
        await session.eof()
        await session.wait()
        self.assertEqual(await session.logs(), b"yes again")

    async def test_are_left_by_all_that_are_attached_but_who_typed_last(self) -> None:
        session = await self.start(["cat"], mode="pipe")
        async with session.attach() as writer, session.attach(role="viewer") as viewer:
            await writer.write("x")
            self.assertIsInstance(await anext(viewer), hawser.Connected)
            self.assertEqual(await session.detach_all(keep_writer=True), 1)
            await writer.write("y")
            self.assertEqual(await session.detach_all(), 1)

    async def test_are_made_once_with_one_idempotency_key(self) -> None:
        first = await self.start(["sleep", "1000"], idempotency_key="once")
        again = await self.client.create(["sleep", "1000"], idempotency_key="once")
        self.assertEqual(again.id, first.id)
        await self.failing("conflict", self.client.create(["sleep", "1001"], idempotency_key="once"))

    async def test_fail_with_the_words_of_the_server(self) -> None:
        self.assertIn("cols", (await self.failing("invalid_argument", self.client.create(["cat"], cols=0))).message)
        await self.failing("spawn_failed", self.client.create(["/no/such/program"]))
        stranger = hawser.connect(server_url())
        self.assertIsNotNone((await self.failing("unauthenticated", stranger.list())).hint)
        await self.failing("unauthenticated", anext(stranger.at("any").attach()))
        await self.failing("session_not_found", anext(self.client.at("nobody").attach()))

    async def test_are_told_of_in_the_feed_which_can_be_gone_on_with(self) -> None:
        feed = self.client.events()
        begin = await anext(feed)
        self.assertEqual(begin.type, "begin")
        session = await self.start(["true"])
        told = [await anext(feed) for _ in range(3)]
        self.assertEqual([event.type for event in told], ["created", "exited", "closed"])
        self.assertEqual(told[1].exit, {"code": 0, "signal": None})
        await session.remove()
        again = self.client.events(told[0].cursor)
        self.assertEqual([(await anext(again)).type for _ in range(3)], ["exited", "closed", "removed"])

    async def test_can_be_given_to_a_page_by_ticket_or_link(self) -> None:
        session = await self.start(["cat"], mode="pipe")
        ticket = await self.client.create_ticket(session.id, right="operate")
        self.assertGreater(ticket["expiresAt"], 0)
        offered = [Subprotocol("hawser.v1"), Subprotocol(f"ticket.{ticket['ticket']}")]
        url = f"{server_url().replace('http', 'ws', 1)}/v1/sessions/{session.id}/attach"
        async with connect(url, subprotocols=offered) as socket:
            self.assertEqual(socket.subprotocol, "hawser.v1")
        link = await self.client.create_sign_in_link()
        self.assertIn("/signin?code=", link["url"])

    async def test_ask_for_a_secret_with_one_token_and_get_it_from_another(self) -> None:
        session = await self.start(["bash", "-c", "read -r -s -p 'Password: ' it; echo got ${#it}; read -s it"])
        async with asyncio.timeout(20):
            while (await session.inspect())["kind"] != "secret":
                await asyncio.sleep(0.01)
        token = await self.client.create_token([f"session:{session.id}:control"], secrets="request", expires_in=60)
        async with hawser.connect(server_url(), token["token"]) as agent:
            own = agent.at(session.id)
            await self.failing("permission_denied", own.secret("hunter-two"))
            request = await own.request_secret(name="login", reason="to go on")
        self.assertEqual((request["prompt"], request["name"]), ("Password:", "login"))
        self.assertIn(request, await self.client.secret_requests())
        await self.client.give_secret(request["id"], "hunter-two")
        await session.wait(match="got 10", timeout=20)
        await self.failing("not_found", self.client.refuse_secret(request["id"]))

    async def test_are_spared_what_a_token_does_not_do_alone_until_somebody_has_approved_it(self) -> None:
        session = await self.start(["cat"], labels={"kind": "gated"})
        gate: hawser.CreateGate = {"match": ["rm -rf"], "timeoutMs": 60_000}
        token = await self.client.create_token([f"session:{session.id}:control"], gate=gate, expires_in=60)
        self.assertEqual(
            token["gate"], {"match": ["rm -rf"], "keys": "enter", "signals": False, "stops": False, "timeoutMs": 60_000}
        )
        wanted = ["approval", "quiet"]
        feed = self.client.events(types=wanted, workspace="default", labels=["kind=gated"], quiet=1)
        self.assertEqual([(await anext(feed)).type for _ in range(2)], ["begin", "quiet"])
        async with hawser.connect(server_url(), token["token"]) as agent:
            own = agent.at(session.id)
            refused = asyncio.create_task(own.write("rm -rf it\r"))
            self.assertEqual((await anext(feed)).type, "approval")
            [held] = await agent.list_approvals()
            self.assertEqual((held["kind"], held["preview"], held["state"]), ("input", "rm -rf it\n", "asked"))
            await self.failing("permission_denied", agent.decide_approval(held["id"], "grant"))
            denied = await self.client.decide_approval(held["id"], "deny", note="not here")
            self.assertEqual((denied["state"], denied.get("note")), ("denied", "not here"))
            self.assertIn("not here", str(await self.failing("not_approved", refused)))
            self.assertEqual((await self.client.get_approval(held["id"]))["state"], "denied")
            done = asyncio.create_task(own.write("rm -rf it\r"))
            self.assertEqual([(await anext(feed)).type for _ in range(2)], ["approval", "approval"])
            [again] = await self.client.list_approvals()
            granted = await self.client.decide_approval(again["id"], "grant", even_if_changed=True)
            self.assertEqual(granted["state"], "granted")
            await done
        await session.wait(match="rm -rf it\r\nrm -rf it")

    async def test_create_refuses_a_string_as_argv_and_starts_nothing(self) -> None:
        before = [one["id"] for one in await self.client.list()]
        refused = 'argv takes a list of arguments.*command="'
        with self.assertRaisesRegex(TypeError, refused):
            await self.client.create("echo hello")
        with self.assertRaisesRegex(TypeError, refused):
            await self.client.run("echo hello")
        self.assertEqual([one["id"] for one in await self.client.list()], before)

    async def test_wait_takes_text_and_looks_at_what_is_new_after_a_write(self) -> None:
        session = await self.start(["cat"], mode="pipe")
        await session.write("one (a.b)\n")
        first = await session.wait(match="(a.b)", timeout=20)
        self.assertEqual((first.kind, first.offset), ("match", 9))
        await session.write("two\n")
        self.assertEqual((await session.wait(match="one", timeout=0.2)).kind, "timeout")
        self.assertEqual((await session.wait(match="one", since=0, timeout=20)).kind, "match")
        self.assertEqual((await session.wait(match="axb", since=0, timeout=0.05)).kind, "timeout")

    async def test_wait_does_not_match_the_echo_of_the_line_just_written(self) -> None:
        session = await self.start(["sh"])
        await session.write("sleep 0.2; echo fini; echo shed finished\n")
        found = await session.wait(match="finished", timeout=20)
        text = (await session.text(0)).text
        self.assertEqual((found.kind, text.count("finished")), ("match", 2))
        await session.write("sleep 9; echo never\n")
        self.assertEqual((await session.wait(match="never", timeout=0.3)).kind, "timeout")
        self.assertEqual((await session.wait(match="never", include_echo=True, timeout=20)).kind, "match")

    async def test_wait_and_attach_fail_when_no_server_answers_in_time(self) -> None:
        async with hawser.connect("http://127.0.0.1:9", "token", times=hawser.Times(first_retry=0.01)) as away:
            session = away.at("one")
            with self.assertRaises(hawser.HawserError) as caught:
                await session.wait(reconnect_timeout=0.05)
            self.assertEqual(caught.exception.code, "node_unavailable")
            with self.assertRaises(hawser.HawserError):
                async with session.attach(reconnect_timeout=0.05) as attachment:
                    async for _ in attachment:
                        pass

    async def test_can_be_reached_with_a_token_until_it_is_revoked(self) -> None:
        session = await self.start(["cat"], mode="pipe")
        token = await self.client.create_token([f"session:{session.id}:view"], name="viewer", expires_in=60)
        self.assertIn(token["id"], [other["id"] for other in await self.client.list_tokens()])
        async with hawser.connect(server_url(), token["token"]) as viewer:
            await self.failing("permission_denied", viewer.at(session.id).write("x"))
            attachment = viewer.at(session.id).attach(role="viewer")
            self.assertIsInstance(await anext(attachment), hawser.Connected)
            await self.client.revoke_token(token["id"])
            await self.failing("unauthenticated", anext(attachment))


class Runs(Case):
    async def test_a_program_gives_its_output_and_its_exit_and_is_forgotten(self) -> None:
        result = await self.client.run(command="echo out; echo err >&2; exit 3", timeout=20, workspace="runs")
        self.assertEqual(result, hawser.RunResult(b"out\n", b"err\n", {"code": 3, "signal": None}))
        self.assertEqual((await self.client.run(["cat"], input=BLOB)).stdout, BLOB)
        self.assertEqual((await self.client.run(["true"], input=BLOB)).exit["code"], 0)
        self.assertEqual((await self.client.run(["cat"])).stdout, b"")
        self.assertEqual(await self.client.list(workspace="runs"), [])

    async def test_a_program_ends_with_its_time_its_limit_or_its_caller(self) -> None:
        result = await self.client.run(["sleep", "1000"], timeout=0.1)
        self.assertEqual(result.exit.get("reason"), "timeout")
        await self.failing("limit_exceeded", self.client.run(["yes"], limit=100_000))
        feed = self.client.events()
        await anext(feed)
        running = asyncio.create_task(self.client.run(["sleep", "1000"], workspace="runs"))
        self.assertEqual((await anext(feed)).type, "created")
        running.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await running
        self.assertEqual(await self.client.list(workspace="runs"), [])


class Attachments(Case):
    async def test_every_byte_goes_in_and_comes_out(self) -> None:
        session = await self.start(["cat"], mode="pipe")
        async with session.attach() as attachment, asyncio.TaskGroup() as group:
            read = group.create_task(reading(attachment))
            for start in range(0, len(BLOB), 100_000):
                group.create_task(attachment.write(BLOB[start : start + 100_000]))
            group.create_task(attachment.eof())
        self.assertEqual(read.result(), BLOB)
        self.assertEqual(await session.logs(), BLOB)
        self.assertEqual(b"".join([part.data async for part in session.follow(1_000_000)]), BLOB[1_000_000:])
        await self.failing("session_closed", session.attach().write("too late"))

    async def test_begin_where_they_are_told_and_say_what_happens(self) -> None:
        session = await self.start(command="stty raw -echo; printf 0123456789; exec cat")
        await session.wait(match="9")
        async with session.attach(since=7) as attachment:
            await attachment.resize(100, 50)
            await attachment.write(b"x")
            await session.wait(match="x", since=10)
            await attachment.signal("KILL")
            events = [event async for event in attachment if not isinstance(event, hawser.Connected)]
        self.assertEqual(b"".join(event.data for event in events if isinstance(event, hawser.Output)), b"789x")
        self.assertIn(hawser.Resized(10, 100, 50), events)
        self.assertEqual(events[-2:], [hawser.Exited(11, {"code": None, "signal": "SIGKILL"}), hawser.Closed(11)])

    async def test_a_writer_waits_while_too_much_waits_for_the_program(self) -> None:
        command = "trap 'cat | wc -c; exit' INT; echo ready; while :; do sleep 0.02; done"
        session = await self.start(command=command, mode="pipe")
        # Earlier, a signal would kill it.
        ready = await session.wait(match="ready\n")
        async with session.attach(since=ready.offset) as attachment:
            writes = [asyncio.create_task(attachment.write(bytes(64 * 1024))) for _ in range(40)]
            # Each has had a turn, but none is done: the queue is bounded.
            await anext(attachment)
            kept = sum(entry.units for entry in attachment._outbox._entries)
            self.assertLessEqual(kept, 1024 * 1024)
            self.assertFalse(any(write.done() for write in writes[24:]))
            writes[-1].cancel()
            # It overtakes all of them; else it would wait for the program, which waits for it.
            await attachment.signal("INT", urgent=True)
            await asyncio.gather(*writes[:-1])
            await attachment.eof()
            self.assertEqual((await reading(attachment)).strip(), str(39 * 64 * 1024).encode())

    async def test_one_has_control_and_the_others_are_told(self) -> None:
        session = await self.start(["cat"], mode="pipe")
        async with session.attach() as first, session.attach() as second:
            self.assertTrue((await first.take())["exclusive"])
            await self.failing("not_writable", second.take())
            await self.failing("not_writable", second.write("x"))
            self.assertTrue((await second.take(force=True)).get("mine"))
            await second.write("mine\n")
            await second.release()
            async for event in first:
                if isinstance(event, hawser.LeaseChanged) and not event.lease["exclusive"]:
                    break
            await first.write("ours\n")
        self.assertEqual((await session.wait(match="ours")).kind, "match")
        self.assertEqual(await session.logs(), b"mine\nours\n")
        async with session.attach(role="viewer") as viewer:
            await self.failing("not_writable", viewer.write("x"))

    async def test_leave_nothing_behind_when_they_end(self) -> None:
        session = await self.start(["cat"], mode="pipe")
        attachment = session.attach()
        await anext(attachment)
        await attachment.detach()
        await attachment.detach()
        with self.assertRaises(StopAsyncIteration):
            await anext(attachment)
        await self.failing("session_closed", attachment.write("x"))
        early = session.attach()
        await early.detach()
        await session.remove()
        self.assertEqual({task for task in asyncio.all_tasks() if task is not asyncio.current_task()}, set())

    async def test_can_be_left_at_once_before_the_server_has_answered(self) -> None:
        came = asyncio.Event()

        async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            came.set()
            with suppress(ConnectionError):
                await reader.read()
            writer.close()

        async with await asyncio.start_server(hold, "127.0.0.1", 0) as server:
            client = hawser.connect(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
            attachment = client.at("any").attach()
            await came.wait()
            # The close timeout is longer than any machine needs.
            with patch("hawser._socket._CLOSE_S", 60):
                async with asyncio.timeout(20):
                    await attachment.detach()

    async def test_give_up_when_the_server_is_unreachable_for_longer_than_the_timeout(self) -> None:
        nowhere = hawser.connect("http://127.0.0.1:9", "token", times=hawser.Times(first_retry=0.01))
        attachment = nowhere.at("any").attach(reconnect_timeout=0.05)
        self.assertIsInstance(await anext(attachment), hawser.Disconnected)
        await self.failing("node_unavailable", reading(attachment))


    async def test_come_back_after_a_farewell_that_came_with_the_welcome(self) -> None:
        lease = {"fence": 0, "holder": None, "exclusive": False, "mine": False}
        start = {"next": 0, "written": 0, "window": 100}
        welcome = {"session": {"state": "running"}, "output": {"from": 0}, "input": start, "lease": lease}
        text = json.dumps({"type": "welcome", **welcome}).encode()
        frames = b"\x81\x7e" + len(text).to_bytes(2) + text + b"\x88\x02" + (1001).to_bytes(2)

        async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            request = await reader.readuntil(b"\r\n\r\n")
            key = re.search(rb"(?i)sec-websocket-key: (\S+)", request)
            assert key is not None
            accept = b64encode(sha1(key[1] + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
            head = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            writer.write(head + b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n" + frames)
            await reader.read()
            writer.close()

        async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
            client = hawser.connect(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
            attachment = client.at("any").attach(reconnect_timeout=0)
            writing = asyncio.create_task(attachment.write("x"))
            # With a timeout of zero, giving up replaces reconnecting.
            await self.failing("node_unavailable", reading(attachment))
            await self.failing("node_unavailable", writing)
            await attachment.detach()


class Waits(Case):
    async def test_for_words_for_silence_and_for_the_end(self) -> None:
        session = await self.start(command="printf '\\033[1mready\\033[0m> '; read line; exit 7", mode="pipe")
        found = await session.wait(match=re.compile(r"ready> $", re.MULTILINE), timeout=20)
        self.assertEqual((found.kind, found.offset), ("match", 15))
        self.assertEqual((await session.wait(idle=0.05)).kind, "idle")
        # A client that is not attached yet does not know where the end is.
        self.assertEqual((await session.wait(timeout=0.05)).kind, "timeout")
        never = await session.wait(match="never", since=15, timeout=0.05)
        self.assertEqual(never, hawser.WaitResult("timeout", 15))
        waiting = asyncio.create_task(session.wait())
        await session.write("go\n", until_written=True)
        expected = hawser.WaitResult("exit", 15, exit={"code": 7, "signal": None})
        self.assertEqual(await waiting, expected)
        self.assertEqual(await session.wait(match=re.compile("never")), expected)


class Terminals(Case):
    async def test_show_a_screen_that_is_read_waited_for_and_followed(self) -> None:
        command = 'stty -echo; printf ready; while read -r line; do printf "$line"; done'
        session = await self.start(command=command, cols=20, rows=5)
        screen = await session.screen(wait=20, text=re.compile("READ.", re.IGNORECASE))
        self.assertEqual((screen.get("met"), screen.get("lines")), (True, ["ready"]))
        self.assertFalse((await session.screen(wait=0.01, text="never", region=(1, 2))).get("met"))
        self.assertTrue((await session.screen(wait=20, stable=0.05)).get("met"))
        seen: list[list[str]] = []
        async for shown in session.screen_changes():
            seen.append(shown["lines"])
            if len(seen) == 1:
                await session.write("\\033[3;1Hthird\n")
            elif shown["lines"][-1] == "third":
                await session.eof()
        self.assertEqual((seen[0], seen[-1]), (["ready"], ["ready", "", "third"]))
        self.assertEqual((await session.screen(at=5)).get("lines"), ["ready"])
        self.assertEqual(await session.screen_text(), "ready\n\nthird\n")
        self.assertIn("<svg", await session.screen_picture())
        self.assertEqual((await session.scrollback())["lines"], [])

    async def test_are_read_as_text_searched_and_recorded(self) -> None:
        session = await self.start(command="for i in 1 2 3; do printf '\\033[1mline\\033[0m %s\\n' $i; done")
        await session.wait()
        text = await session.text()
        self.assertEqual((text.text, text.next, text.omitted), ("line 1\nline 2\nline 3\n", text.end, None))
        self.assertEqual([match["text"] async for match in session.search("LINE 2", ignore_case=True)], ["line 2"])
        found = [match["text"] async for match in session.search(re.compile("e [23]"))]
        self.assertEqual(found, ["line 2", "line 3"])
        self.assertEqual([match async for match in session.search("nowhere")], [])
        header, *events = (await session.recording(format="asciicast-v3")).decode().splitlines()
        self.assertEqual(json.loads(header)["version"], 3)
        self.assertIn("line", "".join(events))
        later = datetime.now(timezone.utc) + timedelta(hours=1)
        self.assertEqual(len((await session.recording(start=later)).splitlines()), 1)

    async def test_run_commands_in_a_living_shell(self) -> None:
        shell = await self.start(["bash"])
        answer = await shell.exec("echo out; (exit 3)", timeout=30)
        self.assertEqual((answer["status"], answer["exitCode"], answer["text"]), ("ended", 3, "out\n"))
        running = await shell.exec("read -r line; echo got $line", timeout=10)
        self.assertEqual(running["status"], "waiting")
        sent = await shell.send("typed\n", end=True)
        self.assertEqual((sent["cause"], "got typed" in sent["text"]), ("end", True))
        assert running["seq"] is not None
        self.assertEqual((await shell.exec(running["seq"], timeout=10))["status"], "ended")
        # The next commands run on the same handle although that one was resumed.
        for text in ("next\n", "next again\n"):
            self.assertEqual((await shell.exec(f"echo {text}", timeout=30))["text"], text)
        commands = await shell.commands()
        self.assertTrue(commands["proven"])
        self.assertEqual([one["exitCode"] for one in commands["commands"]], [3, 0, 0, 0])
        async with asyncio.timeout(20):
            while (await shell.inspect())["state"] != "prompt":
                await asyncio.sleep(0.01)
        self.assertEqual((await shell.send("echo here", keys=["Enter"], match="here", timeout=10))["cause"], "match")
        found = await shell.send("echo a-$((1+1))", keys=["Enter"], match=re.compile(r"^A-\d$", re.IGNORECASE), timeout=10)
        self.assertEqual((found["cause"], found["takeovers"]), ("match", []))
        self.assertEqual((await shell.send(stable=0.3, timeout=10))["cause"], "stable")
        async with shell.attach() as attachment:
            await anext(attachment)
            self.assertEqual(len(await shell.attached()), 1)

    async def test_exec_hands_on_all_that_a_command_writes_in_order(self) -> None:
        shell = await self.start(["bash"])
        parts: list[hawser.ExecOutput] = []
        answer = await shell.exec("seq 1 1000000; printf '\\377\\n'", limit=8, timeout=60, on_output=parts.append)
        self.assertEqual((answer["status"], answer["exitCode"], answer["part"]), ("ended", 0, None))
        expected = b"".join(b"%d\n" % number for number in range(1, 1_000_001)) + b"\xff\n"
        self.assertEqual(b"".join(part.data for part in parts), expected)
        self.assertEqual((parts[0].offset, {part.omitted for part in parts}), (answer["output"]["from"], {0}))

    async def test_exec_waits_for_a_shell_on_its_way_to_its_prompt(self) -> None:
        with tempfile.TemporaryDirectory() as home:
            Path(home, ".bashrc").write_text("sleep 1.2")
            shell = await self.start(["bash"], env={"HOME": home})
            early = await shell.exec("echo no", timeout=0.1)
            self.assertEqual((early["status"], early["why"]), ("busy", "starting"))
            parts: list[hawser.ExecOutput] = []
            late = await shell.exec("echo yes", timeout=20, on_output=parts.append)
            self.assertEqual((late["status"], late["why"], late["text"]), ("ended", None, "yes\n"))
            self.assertEqual([part.text for part in parts], ["yes\n"])

    async def test_run_a_command_once_though_its_answers_are_lost(self) -> None:
        shell = await self.start(["bash"])
        await shell.exec("count=0", timeout=30)
        async with relay(cut_answers=2) as url:
            async with hawser.connect(url, admin_token(), times=hawser.Times(first_retry=0.01)) as client:
                answer = await client.at(shell.id).exec("echo $((count += 1))", timeout=30)
        self.assertEqual(answer["text"], "1\n")
        self.assertEqual((await shell.exec("echo $count", timeout=30))["text"], "1\n")


class Requests(Case):
    async def test_write_in_their_order_and_press_keys(self) -> None:
        session = await self.start(command="stty -echo; printf READY; cat")
        await session.wait(match="READY")
        await asyncio.gather(*(session.write(letter) for letter in "abcd"))
        await session.keys("text:ef", "Enter")
        await session.resize(120, 40)
        await session.eof()
        self.assertEqual((await session.wait()).kind, "exit")
        self.assertEqual(await session.logs(), b"READYabcdef\r\n")
        self.assertEqual((await session.info())["size"], {"cols": 120, "rows": 40})

    async def test_are_repeated_when_their_answer_was_lost_and_carried_out_once(self) -> None:
        session = await self.start(["cat"], mode="pipe")
        async with relay(cut_answers=3) as url:
            async with hawser.connect(url, admin_token(), times=hawser.Times(first_retry=0.01)) as client:
                for word in ("one\n", "two\n", "three\n"):
                    await client.at(session.id).write(word)
        await session.eof()
        await session.wait()
        self.assertEqual(await session.logs(), b"one\ntwo\nthree\n")

    async def test_end_when_nobody_answers_and_when_nobody_waits(self) -> None:
        async with silent_server() as (url, heard):
            client = hawser.connect(url, "token", times=hawser.Times(answer=0.05))
            self.assertIn("no response within", (await self.failing("node_unavailable", client.list())).message)
            with self.assertRaises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await client.at("any").write("x")
            # Both connections were closed, not left to wait.
            await asyncio.wait_for(asyncio.gather(heard.get(), heard.get()), 20)

    async def test_go_below_a_prefix_and_along_no_redirect(self) -> None:
        async with silent_server() as (elsewhere, heard):
            answer = f"HTTP/1.1 307 Moved\r\nLocation: {elsewhere}/\r\nContent-Length: 0\r\n\r\n"
            async with silent_server(answer.encode()) as (url, asked):
                client = hawser.connect(f"{url}/below/", "secret")
                await self.failing("internal", client.info())
                self.assertRegex(await asked.get(), rb"^GET /below/v1/info HTTP/1.1\r\n")
                await self.failing("internal", anext(client.at("any").attach()))
                self.assertRegex(await asked.get(), rb"^GET /below/v1/sessions/any/attach HTTP/1.1\r\n")
            self.assertTrue(heard.empty())

    async def test_addresses_that_make_no_sense_are_refused_at_once(self) -> None:
        for url in ("127.0.0.1:7707", "ftp://host", "http://", "http://host?x"):
            with self.assertRaisesRegex(HawserError, "invalid URL"):
                hawser.connect(url)


class Locating(Case):
    async def test_shows_no_token_to_an_address_that_stood_in_a_file(self) -> None:
        async with silent_server() as (url, heard):
            with tempfile.TemporaryDirectory() as folder:
                state = Path(folder)
                (state / "server.json").write_text(json.dumps({"url": url, "socket": f"{folder}/gone.sock"}))
                (state / "admin-token").write_text("secret\n")
                client = hawser.locate(state_dir=state)
                await self.failing("node_unavailable", client.list())
                await self.failing("node_unavailable", reading(client.at("any").attach(reconnect_timeout=0)))
            self.assertTrue(heard.empty())

    async def test_says_what_to_do_when_there_is_no_server(self) -> None:
        with tempfile.TemporaryDirectory() as folder, self.assertRaises(HawserError) as caught:
            hawser.locate(state_dir=folder)
        error = caught.exception
        self.assertEqual((error.code, error.hint), ("node_unavailable", "start one with hawser serve"))

    async def test_says_that_a_server_of_another_kind_answers(self) -> None:
        async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\nconnection: close\r\n\r\nnone")
            writer.close()

        async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
            client = hawser.connect(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", "none")
            for call in (client.list(), client.at("abc").wait(), reading(client.at("abc").attach())):
                error = await self.failing("internal", call)
                self.assertEqual(error.hint, "check the address: this answer is not from a Hawser server")


class Synchronous(unittest.TestCase):
    def test_does_the_same_without_asyncio(self) -> None:
        with hawser.sync.locate() as client:
            self.assertEqual(client.run(["cat"], input=BLOB).stdout, BLOB)
            session = client.create(command="echo ready; exec cat", mode="pipe")
            self.assertEqual(session.wait(match="ready\n", timeout=20).offset, 6)
            with session.attach(since=6) as attachment:
                self.assertIsInstance(next(attachment), hawser.Connected)
                with self.assertRaises(TimeoutError):
                    attachment.next(timeout=0.02)
                attachment.write("abc")
                attachment.eof()
                self.assertEqual(b"".join(attachment.chunks()), b"abc")
                self.assertEqual(attachment.offset, 9)
            self.assertEqual([part.data for part in client.get(session.id).follow(6)], [b"abc"])
            self.assertEqual([match["text"] for match in session.search("ready")], ["ready"])
            feed = client.events()
            self.assertEqual(next(feed).type, "begin")
            session.remove()
            self.assertEqual(next(feed).type, "removed")
            with self.assertRaises(HawserError) as caught:
                client.at(session.id).info()
            self.assertEqual(caught.exception.code, "session_not_found")
            self.assertNotIn(session.id, [info["id"] for info in client.list()])


@asynccontextmanager
async def relay(cut_answers: int) -> AsyncIterator[str]:
    """Forwards requests to the server, and all but the first responses back."""
    left = cut_answers
    _, _, port = server_url().rpartition(":")

    async def passing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal left
        there, back = await asyncio.open_connection("127.0.0.1", int(port))

        async def upwards() -> None:
            while data := await reader.read(65536):
                back.write(data)

        up = asyncio.create_task(upwards())
        answer = await there.read(65536)
        if left > 0:
            left -= 1
        else:
            writer.write(answer)
        up.cancel()
        for one in (writer, back):
            one.close()
            await one.wait_closed()

    async with await asyncio.start_server(passing, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@asynccontextmanager
async def silent_server(answer: bytes = b"") -> AsyncIterator[tuple[str, asyncio.Queue[bytes]]]:
    """Reports what each ended connection received; sends nothing, or one answer."""
    heard: asyncio.Queue[bytes] = asyncio.Queue()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        brought = b""
        try:
            writer.write(answer)
            while data := await reader.read(65536):
                brought += data
        except ConnectionError:
            pass
        heard.put_nowait(brought)
        writer.close()

    async with await asyncio.start_server(listen, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", heard


if __name__ == "__main__":
    unittest.main()
