/** The contract of every kind of session, with real programs. */

import { createHash } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import type { Item } from "../../src/core/log/event.ts";
import type { State } from "../../src/core/log/session-state.ts";
import { sendInParts } from "../../src/core/session/send-input.ts";
import type { Session } from "../../src/core/session/session.ts";
import type { SessionStart } from "../../src/core/session/session-info.ts";
import { brief, eventually, itemsUntil, outputUntil, PATIENCE_MS, textOf, write } from "../support/reading.ts";
import { shell, startOf } from "../support/starts.ts";

/** The contract of every session, wherever it runs. `open` provides a way to start sessions during one test. */
export function sessionContract(where: string, open: () => Promise<(start: SessionStart) => Promise<Session>>): void {
	describe(`a session ${where}`, () => {
		let start: (what: SessionStart) => Promise<Session>;
		beforeEach(async () => {
			start = await open();
		});

		test("a session reports its life in order: output, exited, then closed, and nothing after that", async () => {
			const session = await start(startOf(["/bin/sh", "-c", "printf out; printf err >&2; exit 4"], { mode: "pipe" }));
			const items = await itemsUntil(session, { offset: 0 });
			expect(items.map(({ kind }) => kind)).toEqual(["output", "output", "exited", "closed"]);
			expect(items.slice(0, 2).map(brief).sort()).toEqual(["err", "out"]);
			expect(session.state).toMatchObject({ status: "closed", exit: { code: 4, signal: null } });
		});

		test("a session applies actions of all kinds in the order of the calls", async () => {
			const session = await start(shell("stty raw -echo; printf ready; head -c 3; stty size; head -c 3"));
			await outputUntil(session, /ready/);
			await write(session, "abc");
			await outputUntil(session, /24 80/);
			await session.act({ kind: "resize", size: { cols: 100, rows: 40 } });
			await write(session, "def");
			const items = await itemsUntil(session, { offset: 0 });
			expect(textOf(items)).toMatch(/^readyabc24 80\r?\ndef$/);
			const kinds = items.map(brief);
			expect(kinds.indexOf("resized")).toBeLessThan(kinds.indexOf("def"));
		});

		test("an exact action is applied as a whole and only at its position, and its repeat is recognized", async () => {
			const session = await start(shell("stty raw -echo; printf ready; exec cat"));
			await outputUntil(session, /ready/);
			const write = (text: string, position: number, from = position) => {
				const options = { origin: { stream: "s", position }, exact: { from, isWhole: true } };
				return session.act({ kind: "write", bytes: Buffer.from(text) }, options);
			};
			expect(await write("abc", 0)).toMatchObject({ next: 3, accepted: 3 });
			expect(await write("abc", 0)).toMatchObject({ next: 3, accepted: 0 });
			// The bytes before the part are known, and dropped.
			expect(await write("abcde", 0, 3)).toMatchObject({ next: 5, accepted: 2 });
			await session.act({ kind: "resize", size: { cols: 100, rows: 40 } }, { origin: { stream: "s", position: 5 } });
			const moved = { code: "conflict", message: 'input stream "s" is at position 6, not at 5; nothing was done' };
			await expect(write("fgh", 5)).rejects.toMatchObject(moved);
			await expect(write("abcdefgh", 0, 5)).rejects.toMatchObject({ ...moved, hint: expect.any(String) });
			await session.forgetStream("s");
			await expect(write("abc", 0, 3)).rejects.toMatchObject({ code: "conflict" });
			expect(await write("!", 0)).toMatchObject({ next: 1 });
			expect(await outputUntil(session, /!$/)).toBe("readyabcde!");
		});

		test("a session reports its program's wait, and the position", async () => {
			const session = await start(shell("cd /usr; printf 'name? '; read name; exec sleep 1000"));
			const { pid } = await session.summary(PATIENCE_MS);
			expect(await session.untilWaiting(0)).toMatchObject({
				...{ state: "waiting", kind: "line", confidence: "sure", program: "sh", pid, cwd: "/usr", offset: 6 },
				episode: 1,
			});
			await write(session, "me\n");
			await eventually("the sleep", async () => (await session.inspect()).kind === "sleep");
			await session.kill({ graceMs: 0 });
			expect(await session.inspect()).toMatchObject({ state: "ended", pid: null, since: session.state.endedAt });
		});

		test("a session reports each new wait of its program, and finally its end", async () => {
			const session = await start(shell("read a; printf b; stty -echo; read b"));
			expect(await session.untilWaiting(0)).toMatchObject({ kind: "line", episode: 1 });
			const next = session.untilWaiting(1);
			await write(session, "a\n");
			expect(await next).toMatchObject({ kind: "secret", episode: 2 });
			const last = session.untilWaiting(2);
			await write(session, "b\n");
			expect(await last).toMatchObject({ state: "ended" });
		});

		test("a session does not report a wait before its program has read its input and reacted", async () => {
			const session = await start(startOf(["bash", "--norc", "--noprofile"]));
			let { offset } = await session.untilWaiting(0);
			for (let i = 0; i < 100; i++) {
				await write(session, `echo $((${i} + 1000))\r`);
				const from = offset;
				({ offset } = await session.untilWaiting(0));
				const items = await itemsUntil(session, { offset: from }, (item) => endOf(item) >= offset);
				expect(textOf(items)).toContain(`\n\x1b[?2004l\r${i + 1000}\r\n`);
			}
			await session.kill({ graceMs: 0 });
		});

		test("a session ends its program at the timeout, and reports that as the reason", async () => {
			const session = await start(shell("sleep 1000 & exec sleep 1000", { timeoutMs: 50 }));
			await itemsUntil(session, { offset: 0 });
			expect(session.state.exit).toEqual({ code: null, signal: "SIGHUP", reason: "timeout" });
		});

		test("a session ends its program when it is idle, but not while it works", async () => {
			const idleTimeoutMs = 400;
			const session = await start(
				shell("i=0; while [ $i -lt 8 ]; do echo $i; sleep 0.1; i=$((i+1)); done; exec sleep 1000", { idleTimeoutMs }),
			);
			const items = await itemsUntil(session, { offset: 0 });
			const written = items.findLast((item) => item.kind === "output");
			const exited = items.find((item) => item.kind === "exited");
			// Measured from the last output: a busy machine may delay the program's work. Times are whole milliseconds.
			expect((exited?.time ?? 0) - (written?.time ?? 0)).toBeGreaterThanOrEqual(idleTimeoutMs - 1);
			expect(session.state.exit).toMatchObject({ signal: "SIGHUP", reason: "idle" });
		});

		test("a session notifies its watchers of each state until they stop", async () => {
			const session = await start(shell("read go; exit 3"));
			const seen: string[] = [];
			const left: string[] = [];
			const look = ({ status, size, exit }: State) => `${status} ${size.cols} ${exit?.code}`;
			session.watch((state) => seen.push(look(state)));
			const leave = session.watch((state) => left.push(look(state)));
			await session.act({ kind: "resize", size: { cols: 99, rows: 24 } });
			await eventually("the size", () => seen.length > 0);
			leave();
			await write(session, "\n");
			await itemsUntil(session, { offset: 0 });
			await eventually("the end", () => session.state.status === "closed");
			expect(seen).toEqual(["running 99 undefined", "exited 99 3", "closed 99 3"]);
			expect(left).toEqual(["running 99 undefined"]);
		});

		test("the exit names the caller that killed the session", async () => {
			const session = await start(shell("exec sleep 1000"));
			await session.kill({ by: "ana", signal: "SIGKILL" });
			expect(session.state).toMatchObject({
				status: "closed",
				exit: { signal: "SIGKILL", reason: "killed", by: "ana" },
			});
		});

		test("a program that ends by itself has no reason, even if a kill comes too late", async () => {
			const session = await start(startOf(["/bin/true"]));
			await itemsUntil(session, { offset: 0 });
			await session.kill();
			expect(session.state.exit).toEqual({ code: 0, signal: null });
		});

		test("a session refuses input once its program has ended", async () => {
			const session = await start(startOf(["/bin/true"]));
			await itemsUntil(session, { offset: 0 });
			await expect(write(session, "late")).rejects.toMatchObject({ code: "session_closed" });
		});

		test("a session can be killed while its input is stuck", async () => {
			const session = await start(shell("stty raw -echo; printf ready; sleep 1000"));
			await outputUntil(session, /ready/);
			const bytes = new Uint8Array(128 * 1024);
			const { next, written } = await session.act({ kind: "write", bytes }, { origin: { stream: "s", position: 0 } });
			expect(next).toBe(bytes.byteLength);
			expect(written).toBeLessThan(next);
			await session.kill({ signal: "SIGKILL" });
			expect(session.state.status).toBe("closed");
		});

		test("a session takes input of any size in parts, and reports when all of it is written", async () => {
			const session = await start(startOf(["/usr/bin/sha256sum"], { mode: "pipe" }));
			const bytes = Buffer.alloc(3 * 1024 * 1024);
			for (let at = 0; at < bytes.length; at += 4) bytes.writeUInt32BE(at, at);
			const origin = { stream: "s", position: 0 };
			const receipt = await sendInParts(session, { kind: "write", bytes }, { origin, until: "written" });
			expect(receipt).toMatchObject({ next: bytes.length, written: bytes.length });
			// Now all of it is a repeat.
			await sendInParts(session, { kind: "write", bytes }, { origin, until: "written" });
			await session.act({ kind: "eof" });
			const digest = createHash("sha256").update(bytes).digest("hex");
			expect(textOf(await itemsUntil(session, { offset: 0 }))).toBe(`${digest}  -\n`);
		});

		test("sending stops on abort, and reports how much was accepted", async () => {
			const session = await start(startOf(["/bin/sleep", "1000"], { mode: "pipe" }));
			const controller = new AbortController();
			const { signal } = controller;
			const origin = { stream: "s", position: 0 };
			const write = { kind: "write", bytes: new Uint8Array(1024 * 1024) } as const;
			const offered = sendInParts(session, write, { origin, until: "accepted", signal });
			await eventually("a full window", async () => (await session.receipt("s")).room === 0);
			controller.abort();
			const { next } = await offered;
			expect(next).toBeGreaterThanOrEqual(128 * 1024);
			expect(next).toBeLessThan(1024 * 1024);
			await session.kill({ signal: "SIGKILL" });
			await expect(sendInParts(session, write, { origin, until: "written" })).rejects.toMatchObject({
				code: "session_closed",
			});
		});

		test("every stream gets space in the queue eventually, without polling", async () => {
			const session = await start(startOf(["/bin/sh", "-c", "head -c 4194304 | wc -c"], { mode: "pipe" }));
			const signal = (name: string) => session.act({ kind: "signal", signal: name, urgent: true });
			await signal("SIGSTOP");
			const write = { kind: "write", bytes: new Uint8Array(256 * 1024) } as const;
			const send = (stream: string) =>
				sendInParts(session, write, { origin: { stream, position: 0 }, until: "accepted" });
			const sent = Promise.all(Array.from({ length: 16 }, (_, stream) => send(`s${stream}`)));
			await eventually("a full queue", async () => (await session.receipt("late")).room === 0);
			await signal("SIGCONT");
			for (const receipt of await sent) expect(receipt).toMatchObject({ next: 256 * 1024 });
			expect(textOf(await itemsUntil(session, { offset: 0 }))).toMatch(/^ *4194304\n$/);
		});

		test.each([
			{ cols: 0, rows: 24 },
			{ cols: -1, rows: 24 },
			{ cols: 80, rows: 65_536 },
			{ cols: 80.5, rows: 24 },
		])("a session refuses the size %j", async (size) => {
			const session = await start(shell("exec sleep 1000"));
			await expect(session.act({ kind: "resize", size })).rejects.toMatchObject({
				code: "invalid_argument",
				message: expect.stringContaining("1 to 65535"),
			});
			await session.kill({ signal: "SIGKILL" });
		});

		test("a session on pipes has no size", async () => {
			const session = await start(startOf(["/bin/cat"], { mode: "pipe" }));
			await expect(session.act({ kind: "resize", size: { cols: 1, rows: 1 } })).rejects.toMatchObject({
				code: "unsupported",
			});
			await session.act({ kind: "eof" });
			await itemsUntil(session, { offset: 0 });
			expect(session.state.exit).toEqual({ code: 0, signal: null });
		});

		test("a session knows the terminal state set by its output, while it runs and after its end", async () => {
			const session = await start(
				shell("printf 'a\\033[?1049h\\033]0;title\\007'; read go; printf '\\033[?1049l\\033[?2'"),
			);
			await outputUntil(session, /title\u0007/);
			expect(await session.scan()).toMatchObject({ title: "title", alternate: { isOn: true, since: 1 }, pending: "" });
			await write(session, "\n");
			await itemsUntil(session, { offset: 0 });
			const { offset } = await session.end();
			expect(await session.scan()).toMatchObject({
				offset,
				title: "title",
				alternate: { isOn: false },
				pending: "\u001b[?2",
			});
		});

		test("a session on pipes has no terminal state", async () => {
			const session = await start(startOf(["/bin/true"], { mode: "pipe" }));
			await expect(session.scan()).rejects.toMatchObject({ code: "unsupported" });
			await expect(session.untilRedrawDue(0)).rejects.toMatchObject({ code: "unsupported" });
		});

		test("a session reports long output on the alternate screen, and that none follows after its end", async () => {
			const session = await start(
				shell("yes | head -c 300000; printf '\\033[?1049h'; yes | head -c 300000; printf end; read -r x"),
			);
			expect(await session.untilRedrawDue(0)).toBe(true);
			await outputUntil(session, /end$/);
			const { offset } = await session.end();
			expect(await session.untilRedrawDue(offset - 256 * 1024)).toBe(true);
			const next = session.untilRedrawDue(offset);
			await write(session, "\n");
			expect(await next).toBe(false);
		});

		test("a session held for its first reader loses no output, even if it floods before the reader arrives", async () => {
			const retention = { memoryBytes: 64 * 1024, journalBytes: 0 };
			const session = await start(startOf(["seq", "300000"], { mode: "pipe", retention, holdOutput: true }));
			await eventually("a full log", async () => (await session.info()).offsets.end >= retention.memoryBytes);
			// Only a lossless reader from the start ends the hold.
			for (const [place, flow] of [[{ offset: 0 }, "live"] as const, ["end", "lossless"] as const]) {
				const left = new AbortController();
				const items = session.follow(place, { flow, signal: left.signal })[Symbol.asyncIterator]();
				left.abort();
				await items.next();
			}
			const items: Item[] = [];
			for await (const item of session.follow({ offset: 0 }, { flow: "lossless" })) items.push(item);
			const numbers = Array.from({ length: 300_000 }, (_, index) => `${index + 1}\n`);
			expect(items.filter(({ kind }) => kind === "gap")).toEqual([]);
			expect(textOf(items) === numbers.join("")).toBe(true);
		});

		test("a session waits for a lossless reader at the limit, and loses none of its bytes", async () => {
			const retention = { memoryBytes: 64 * 1024, journalBytes: 0 };
			const argv = ["/bin/sh", "-c", "read -r go; exec seq 1 300000"];
			const session = await start(startOf(argv, { mode: "pipe", retention }));
			const parts: Uint8Array[] = [];
			let slowness = 0;
			const items = session.follow({ offset: 0 }, { flow: "lossless" });
			await write(session, "\n");
			for await (const item of items) {
				expect(item.kind).not.toBe("gap");
				if (item.kind === "output") parts.push(item.bytes);
				// Lets the program reach the limit now and then.
				if (++slowness % 10 === 0) for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
			}
			const lines = Buffer.concat(parts).toString().split("\n");
			expect(lines).toHaveLength(300_001);
			expect(lines[299_999]).toBe("300000");
		});

		test("a start may be as large as the kernel allows, and is refused with the kernel's reason beyond that", async () => {
			const script = `# ${"x\n# ".repeat(25_000)}\nprintf '%s' \${#FIRST} \${#LAST}`;
			const filler = Object.fromEntries(
				Array.from({ length: 12 }, (_, i) => [`FILLER_${i}`, "\u0001".repeat(120_000)]),
			);
			const large = startOf(["/bin/sh", "-c", script], { mode: "pipe" });
			const env = { ...large.command.env, FIRST: "f".repeat(100_000), ...filler, LAST: "l".repeat(130_000) };
			const session = await start({ ...large, command: { ...large.command, env } });
			expect(textOf(await itemsUntil(session, { offset: 0 }))).toBe("100000130000");
			const beyond = startOf(["/bin/true", "x".repeat(131_072)], { mode: "pipe" });
			await expect(start(beyond)).rejects.toMatchObject({
				code: "spawn_failed",
				message: expect.stringContaining("E2BIG"),
			});
		});

		test("a session counts its readers", async () => {
			const session = await start(shell("exec sleep 1000"));
			const controller = new AbortController();
			const reading = itemsUntil(session, "end").catch(() => {});
			const other = session.follow("end", { signal: controller.signal })[Symbol.asyncIterator]().next();
			const count = (wanted: number) =>
				eventually(`${wanted}`, async () => (await session.info()).attachments === wanted);
			await count(2);
			controller.abort();
			await other;
			await count(1);
			await session.kill({ signal: "SIGKILL" });
			await reading;
			await count(0);
		});
	});
}

/** The end of the output after an item. */
function endOf(item: Item): number {
	if (item.kind === "gap") return item.to;
	return item.offset + (item.kind === "output" ? item.bytes.byteLength : 0);
}
