import { expect, test } from "vitest";
import { spawn } from "../../../src/backends/spawn.ts";
import { systemClock } from "../../../src/backends/system-clock.ts";
import type { Spawn } from "../../../src/core/process/process.ts";
import { LocalSession } from "../../../src/core/session/local-session.ts";
import type { Session } from "../../../src/core/session/session.ts";
import { sessionContract } from "../../contracts/session.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { eventually, itemsUntil, outputUntil, textOf, write } from "../../support/reading.ts";
import { shell, startOf } from "../../support/starts.ts";

sessionContract("in this process", async () => (start) => LocalSession.start(start, { spawn, clock: systemClock }));

test.each([-3_600_000, 3_600_000])("a session is idle for the same time when the clock is set by %i ms", async (ms) => {
	const clock = new FakeClock();
	const session = await LocalSession.start(shell("exec sleep 1000", { idleTimeoutMs: 60_000 }), { spawn, clock });
	clock.advance(30_000);
	await write(session, "x");
	// The echo, if any, has arrived by now.
	await itemsUntil(session, { offset: 0 }, (item) => item.kind === "output");
	clock.jump(ms);
	clock.advance(59_999);
	// It will check again, so it has not ended the program yet.
	expect(clock.pending).toBe(1);
	clock.advance(1);
	expect(clock.pending).toBe(0);
	await itemsUntil(session, { offset: 0 });
	expect(session.state.exit).toMatchObject({ reason: "idle" });
});

test("a program whose output is held for a missing reader continues after the timeout", async () => {
	const clock = new FakeClock();
	const retention = { memoryBytes: 64 * 1024, journalBytes: 0 };
	const start = startOf(["seq", "300000"], { mode: "pipe", retention, holdOutput: true });
	const session = await LocalSession.start(start, { spawn, clock });
	await eventually("a full log", () => session.log.end.offset > retention.memoryBytes);
	clock.advance(9_999);
	expect(session.log.oldest.offset).toBe(0);
	clock.advance(1);
	expect((await itemsUntil(session, { offset: 0 })).at(0)).toMatchObject({ kind: "gap", from: 0 });
});

/** The session checks for a reader first, and again after a moment of its clock. */
async function giveSecret(session: Session, secret: Uint8Array, clock: FakeClock): Promise<void> {
	const typed = session.secret(secret, {});
	let isTyped = false;
	void typed.finally(() => {
		isTyped = true;
	});
	await eventually("a typed secret", () => {
		clock.advance(isTyped ? 0 : 1);
		return isTyped;
	});
	await typed;
}

test("a secret written in parts is masked as one, and a text that only begins like it is shown after a moment", async () => {
	const clock = new FakeClock();
	const halves = [`read it; printf '<%.4s' "$it"`, `read go; printf '%s>%.3s' "$(echo "$it" | cut -c5-)" "$it"`];
	const script = `stty -echo; echo ready; ${halves.join("; ")}; exec cat`;
	const session = await LocalSession.start(startOf(["bash", "--norc", "-c", script]), { spawn, clock });
	const shown = async (text: string) =>
		itemsUntil(session, { offset: 0 }, (_, seen) => seen.replaceAll("\r\n", " ") === text);
	await shown("ready ");
	const secret = Buffer.from("password");
	await giveSecret(session, secret, clock);
	expect(secret.equals(Buffer.alloc(8))).toBe(true);
	await shown("ready <");
	// It arrived in one piece: the beginning of the secret waits for the rest, and time stands still.
	expect(session.log.end.offset).toBe("ready\r\n<".length);
	await write(session, "\n");
	await shown("ready <********>");
	clock.advance(49);
	expect(session.log.end.offset).toBe("ready\r\n<********>".length);
	clock.advance(1);
	await shown("ready <********>pas");
	await session.kill();
});

test("a resize between two parts of a secret shows neither, and is between them in the log", async () => {
	const clock = new FakeClock();
	const script = `stty -echo; echo ready; read it; printf '<%.4s' "$it"; read go; printf '%s>' "$(echo "$it" | cut -c5-)"; exec cat`;
	const session = await LocalSession.start(startOf(["bash", "--norc", "-c", script]), { spawn, clock });
	await outputUntil(session, /ready\r\n/);
	await giveSecret(session, Buffer.from("password"), clock);
	await outputUntil(session, /</);
	const size = { cols: 100, rows: 30 };
	await session.act({ kind: "resize", size });
	expect(session.log.end.offset).toBe("ready\r\n<".length);
	await write(session, "\n");
	const items = await itemsUntil(session, { offset: 0 }, (_, text) => text.includes(">"));
	expect(textOf(items)).toBe("ready\r\n<********>");
	expect(items.slice(-3)).toMatchObject([
		{ kind: "output", bytes: Buffer.from("****") },
		{ kind: "resized", size, offset: "ready\r\n<****".length },
		{ kind: "output", bytes: Buffer.from("****>") },
	]);
	expect((await session.info()).size).toEqual(size);
	await session.kill();
});

test("input that the kernel takes at once has its own receipt, with the offset before all of its effects", async () => {
	const session = await LocalSession.start(shell("echo ready; exec cat"), { spawn, clock: systemClock });
	await itemsUntil(session, { offset: 0 }, (_, seen) => seen.includes("ready"));
	const { offset: from } = await session.end();
	const act = { kind: "write", bytes: Buffer.from("line\n") } as const;
	const receipt = await session.act(act, { origin: { stream: "s", position: 0 } });
	expect(receipt).toMatchObject({ next: 5, written: 5, from });
	await session.kill();
});

test("a secret is overwritten as soon as the program's terminal has it", async () => {
	let typed: Uint8Array = new Uint8Array();
	const noting: Spawn = async (command, report) => {
		const program = await spawn(command, report);
		const write = program.write.bind(program);
		program.write = (bytes) => {
			typed = bytes;
			return write(bytes);
		};
		return program;
	};
	const script = "stty -echo; echo ready; read it; echo got; exec cat";
	const session = await LocalSession.start(shell(script), { spawn: noting, clock: systemClock });
	await itemsUntil(session, { offset: 0 }, (_, seen) => seen.includes("ready"));
	await session.secret(Buffer.from("password"), {});
	await itemsUntil(session, { offset: 0 }, (_, seen) => seen.includes("got"));
	expect(Buffer.from(typed)).toEqual(Buffer.alloc("password\r".length));
	await session.kill();
});

test("a text that only begins like a secret is shown before the end of its program", async () => {
	const clock = new FakeClock();
	const session = await LocalSession.start(shell("stty -echo; echo ready; read it; printf pass"), { spawn, clock });
	await itemsUntil(session, { offset: 0 }, (_, seen) => seen.includes("ready"));
	await giveSecret(session, Buffer.from("password"), clock);
	expect(textOf(await itemsUntil(session, { offset: 0 }))).toBe("ready\r\npass");
});

test("a secret is not queued behind waiting input, because the echo state at that time is unknown", async () => {
	const session = await LocalSession.start(shell("stty -echo; echo ready; exec sleep 1000"), {
		spawn,
		clock: systemClock,
	});
	await itemsUntil(session, { offset: 0 }, (_, seen) => seen.includes("ready"));
	// More than a terminal buffers without a reader.
	await write(session, "line\n".repeat(20_000));
	await expect(session.secret(Buffer.from("password"), {})).rejects.toMatchObject({
		code: "not_waiting",
		message: "the program does not read a secret now: it has not read earlier input",
	});
	await session.kill();
});
