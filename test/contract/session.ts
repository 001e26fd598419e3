/** The suite that every kind of session passes, with real programs. */

import { createHash } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import type { Item } from "../../src/core/event.ts";
import { offer } from "../../src/core/offer.ts";
import type { Session, SessionStart } from "../../src/core/session.ts";
import type { State } from "../../src/core/state.ts";
import { brief, eventually, itemsUntil, outputUntil, PATIENCE_MS, textOf, write } from "../helpers/reading.ts";
import { shell, startOf } from "../helpers/starts.ts";

/** What every session must do, wherever it lives. `open` gives the place to start them in, for the time of one test. */
export function sessionContract(where: string, open: () => Promise<(start: SessionStart) => Promise<Session>>): void {
	describe(`a session ${where}`, () => {
		let start: (what: SessionStart) => Promise<Session>;
		beforeEach(async () => {
			start = await open();
		});

		test("tells its whole life in order: output, exited, then closed, and nothing after it", async () => {
			const session = await start(startOf(["/bin/sh", "-c", "printf out; printf err >&2; exit 4"], { mode: "pipe" }));
			const items = await itemsUntil(session, { offset: 0 });
			expect(items.map(({ kind }) => kind)).toEqual(["output", "output", "exited", "closed"]);
			expect(items.slice(0, 2).map(brief).sort()).toEqual(["err", "out"]);
			expect(session.state).toMatchObject({ status: "closed", exit: { code: 4, signal: null } });
		});

		test("carries out what it is asked in the order in which it was asked, whatever kind it is", async () => {
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

		test("tells what its program waits for, and where", async () => {
			const session = await start(shell("cd /usr; printf 'name? '; read name; exec sleep 1000"));
			const { pid } = await session.info(PATIENCE_MS);
			expect(await session.untilWaiting(0)).toMatchObject({
				...{ state: "waiting", kind: "line", confidence: "sure", program: "sh", pid, cwd: "/usr", offset: 6 },
				episode: 1,
			});
			await write(session, "me\n");
			await eventually("the sleep", async () => (await session.inspect()).kind === "sleep");
			await session.kill({ graceMs: 0 });
			expect(await session.inspect()).toMatchObject({ state: "ended", pid: null, since: session.state.endedAt });
		});

		test("tells of each time its program begins to wait, and at last of its end", async () => {
			const session = await start(shell("read a; printf b; stty -echo; read b"));
			expect(await session.untilWaiting(0)).toMatchObject({ kind: "line", episode: 1 });
			const next = session.untilWaiting(1);
			await write(session, "a\n");
			expect(await next).toMatchObject({ kind: "secret", episode: 2 });
			const last = session.untilWaiting(2);
			await write(session, "b\n");
			expect(await last).toMatchObject({ state: "ended" });
		});

		test("is not told to wait before its program has read what was written and answered it", async () => {
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

		test("ends its program when its time is over, and says that this was why", async () => {
			const session = await start(shell("sleep 1000 & exec sleep 1000", { timeoutMs: 50 }));
			await itemsUntil(session, { offset: 0 });
			expect(session.state.exit).toEqual({ code: null, signal: "SIGHUP", reason: "timeout" });
		});

		test("ends its program when it has been idle, but not while it works", async () => {
			const idleTimeoutMs = 400;
			const session = await start(
				shell("i=0; while [ $i -lt 8 ]; do echo $i; sleep 0.1; i=$((i+1)); done; exec sleep 1000", { idleTimeoutMs }),
			);
			const items = await itemsUntil(session, { offset: 0 });
			const written = items.findLast((item) => item.kind === "output");
			const exited = items.find((item) => item.kind === "exited");
			// Not when it has come to its end: a busy machine may keep it from its work for so long. Times are whole milliseconds.
			expect((exited?.time ?? 0) - (written?.time ?? 0)).toBeGreaterThanOrEqual(idleTimeoutMs - 1);
			expect(session.state.exit).toMatchObject({ signal: "SIGHUP", reason: "idle" });
		});

		test("tells whoever watches of each state that it comes to, until they stop", async () => {
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

		test("says who killed it", async () => {
			const session = await start(shell("exec sleep 1000"));
			await session.kill({ by: "ana", signal: "SIGKILL" });
			expect(session.state).toMatchObject({
				status: "closed",
				exit: { signal: "SIGKILL", reason: "killed", by: "ana" },
			});
		});

		test("of a program that ends by itself has no reason, even when a kill comes too late", async () => {
			const session = await start(startOf(["/bin/true"]));
			await itemsUntil(session, { offset: 0 });
			await session.kill();
			expect(session.state.exit).toEqual({ code: 0, signal: null });
		});

		test("refuses input once its program has ended", async () => {
			const session = await start(startOf(["/bin/true"]));
			await itemsUntil(session, { offset: 0 });
			await expect(write(session, "late")).rejects.toMatchObject({ code: "session_closed" });
		});

		test("can be killed while its program does not read and input is stuck", async () => {
			const session = await start(shell("stty raw -echo; printf ready; sleep 1000"));
			await outputUntil(session, /ready/);
			const bytes = new Uint8Array(128 * 1024);
			const { next, written } = await session.act({ kind: "write", bytes }, { origin: { stream: "s", position: 0 } });
			expect(next).toBe(bytes.byteLength);
			expect(written).toBeLessThan(next);
			await session.kill({ signal: "SIGKILL" });
			expect(session.state.status).toBe("closed");
		});

		test("takes input of any size, in parts, and says when the program's side has all of it", async () => {
			const session = await start(startOf(["/usr/bin/sha256sum"], { mode: "pipe" }));
			const bytes = Buffer.alloc(3 * 1024 * 1024);
			for (let at = 0; at < bytes.length; at += 4) bytes.writeUInt32BE(at, at);
			const origin = { stream: "s", position: 0 };
			const receipt = await offer(session, { kind: "write", bytes }, { origin, until: "written" });
			expect(receipt).toMatchObject({ next: bytes.length, written: bytes.length });
			// All of it is a repeat now.
			await offer(session, { kind: "write", bytes }, { origin, until: "written" });
			await session.act({ kind: "eof" });
			const digest = createHash("sha256").update(bytes).digest("hex");
			expect(textOf(await itemsUntil(session, { offset: 0 }))).toBe(`${digest}  -\n`);
		});

		test("leaves off offering when it is told to, and says how far it came", async () => {
			const session = await start(startOf(["/bin/sleep", "1000"], { mode: "pipe" }));
			const controller = new AbortController();
			const { signal } = controller;
			const origin = { stream: "s", position: 0 };
			const write = { kind: "write", bytes: new Uint8Array(1024 * 1024) } as const;
			const offered = offer(session, write, { origin, until: "accepted", signal });
			await eventually("a full window", async () => (await session.receipt("s")).room === 0);
			controller.abort();
			const { next } = await offered;
			expect(next).toBeGreaterThanOrEqual(128 * 1024);
			expect(next).toBeLessThan(1024 * 1024);
			await session.kill({ signal: "SIGKILL" });
			await expect(offer(session, write, { origin, until: "written" })).rejects.toMatchObject({
				code: "session_closed",
			});
		});

		test("gives room to every stream in the end, and nobody need ask for it again and again", async () => {
			const session = await start(startOf(["/bin/sh", "-c", "head -c 4194304 | wc -c"], { mode: "pipe" }));
			const signal = (name: string) => session.act({ kind: "signal", signal: name, urgent: true });
			await signal("SIGSTOP");
			const write = { kind: "write", bytes: new Uint8Array(256 * 1024) } as const;
			const send = (stream: string) => offer(session, write, { origin: { stream, position: 0 }, until: "accepted" });
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
		])("refuses the size %j", async (size) => {
			const session = await start(shell("exec sleep 1000"));
			await expect(session.act({ kind: "resize", size })).rejects.toMatchObject({
				code: "invalid_argument",
				message: expect.stringContaining("1 to 65535"),
			});
			await session.kill({ signal: "SIGKILL" });
		});

		test("on pipes has no size", async () => {
			const session = await start(startOf(["/bin/cat"], { mode: "pipe" }));
			await expect(session.act({ kind: "resize", size: { cols: 1, rows: 1 } })).rejects.toMatchObject({
				code: "unsupported",
			});
			await session.act({ kind: "eof" });
			await itemsUntil(session, { offset: 0 });
			expect(session.state.exit).toEqual({ code: 0, signal: null });
		});

		test("knows what its output says about its terminal, while it runs and after its end", async () => {
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

		test("on pipes has no terminal of which its output could say anything", async () => {
			const session = await start(startOf(["/bin/true"], { mode: "pipe" }));
			await expect(session.scan()).rejects.toMatchObject({ code: "unsupported" });
			await expect(session.untilMuchDrawn(0)).rejects.toMatchObject({ code: "unsupported" });
		});

		test("tells when its program has drawn much on the alternate screen, and that it will not after its end", async () => {
			const session = await start(
				shell("yes | head -c 300000; printf '\\033[?1049h'; yes | head -c 300000; printf end; read -r x"),
			);
			expect(await session.untilMuchDrawn(0)).toBe(true);
			await outputUntil(session, /end$/);
			const { offset } = await session.end();
			expect(await session.untilMuchDrawn(offset - 256 * 1024)).toBe(true);
			const next = session.untilMuchDrawn(offset);
			await write(session, "\n");
			expect(await next).toBe(false);
		});

		test("whose output is held for its first reader loses none of it, though it floods before anybody is there", async () => {
			const retention = { memoryBytes: 64 * 1024, journalBytes: 0 };
			const session = await start(startOf(["seq", "300000"], { mode: "pipe", retention, holdOutput: true }));
			await eventually("a full log", async () => (await session.info()).offsets.end >= retention.memoryBytes);
			// Who does not hold the log, or does not begin at its beginning, is not the one that it waits for.
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

		test("waits for a lossless reader at the bound, and loses none of its bytes", async () => {
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
				// Now and then lets the program run into the bound.
				if (++slowness % 10 === 0) for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
			}
			const lines = Buffer.concat(parts).toString().split("\n");
			expect(lines).toHaveLength(300_001);
			expect(lines[299_999]).toBe("300000");
		});

		test("may be started with as much as the kernel takes, and is refused with the kernel's reason beyond that", async () => {
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

		test("counts who reads it", async () => {
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

/** Where the output is after an item. */
function endOf(item: Item): number {
	if (item.kind === "gap") return item.to;
	return item.offset + (item.kind === "output" ? item.bytes.byteLength : 0);
}
