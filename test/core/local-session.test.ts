import { expect, test } from "vitest";
import { systemClock } from "../../src/backends/clock.ts";
import { spawn } from "../../src/backends/spawn.ts";
import { LocalSession } from "../../src/core/local-session.ts";
import type { Spawn } from "../../src/core/process.ts";
import { sessionContract } from "../contract/session.ts";
import { FakeClock } from "../helpers/fake-clock.ts";
import { eventually, itemsUntil, textOf, write } from "../helpers/reading.ts";
import { shell, startOf } from "../helpers/starts.ts";

sessionContract("in this process", async () => (start) => LocalSession.start(start, { spawn, clock: systemClock }));

test.each([-3_600_000, 3_600_000])("a session is idle for as long when the clock is set by %i ms", async (ms) => {
	const clock = new FakeClock();
	const session = await LocalSession.start(shell("exec sleep 1000", { idleTimeoutMs: 60_000 }), { spawn, clock });
	clock.advance(30_000);
	await write(session, "x");
	// Whatever the echo is, it has come by now.
	await itemsUntil(session, { offset: 0 }, (item) => item.kind === "output");
	clock.jump(ms);
	clock.advance(59_999);
	// It will look again, so it has not ended the program yet.
	expect(clock.pending).toBe(1);
	clock.advance(1);
	expect(clock.pending).toBe(0);
	await itemsUntil(session, { offset: 0 });
	expect(session.state.exit).toMatchObject({ reason: "idle" });
});

test("a program whose output is held for a reader that never comes goes on when the time for one is over", async () => {
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

test("a secret that a program writes in parts is masked as one, and what only begins like it is shown after a moment", async () => {
	const clock = new FakeClock();
	const halves = [`read it; printf '<%.4s' "$it"`, `read go; printf '%s>%.3s' "$(echo "$it" | cut -c5-)" "$it"`];
	const script = `stty -echo; echo ready; ${halves.join("; ")}; exec cat`;
	const session = await LocalSession.start(startOf(["bash", "--norc", "-c", script]), { spawn, clock });
	const shown = async (text: string) =>
		itemsUntil(session, { offset: 0 }, (_, seen) => seen.replaceAll("\r\n", " ") === text);
	await shown("ready ");
	const secret = Buffer.from("password");
	await session.secret(secret, {});
	expect(secret.equals(Buffer.alloc(8))).toBe(true);
	await shown("ready <");
	// It has come in one piece: the beginning of the secret waits for the rest, and time stands still.
	expect(session.log.end.offset).toBe("ready\r\n<".length);
	await write(session, "\n");
	await shown("ready <********>");
	clock.advance(49);
	expect(session.log.end.offset).toBe("ready\r\n<********>".length);
	clock.advance(1);
	await shown("ready <********>pas");
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

test("what only begins like a secret is shown before the end of its program", async () => {
	const clock = new FakeClock();
	const session = await LocalSession.start(shell("stty -echo; echo ready; read it; printf pass"), { spawn, clock });
	await itemsUntil(session, { offset: 0 }, (_, seen) => seen.includes("ready"));
	await session.secret(Buffer.from("password"), {});
	expect(textOf(await itemsUntil(session, { offset: 0 }))).toBe("ready\r\npass");
});

test("a secret is not put behind what waits to be typed: nobody knows whether it would be shown by then", async () => {
	const session = await LocalSession.start(shell("stty -echo; echo ready; exec sleep 1000"), {
		spawn,
		clock: systemClock,
	});
	await itemsUntil(session, { offset: 0 }, (_, seen) => seen.includes("ready"));
	// More than a terminal takes that nobody reads from.
	await write(session, "line\n".repeat(20_000));
	await expect(session.secret(Buffer.from("password"), {})).rejects.toMatchObject({ code: "not_waiting" });
	await session.kill();
});
