/** Overviews of waiting programs while the kernel or a busy machine answers inspections slowly. */

import { expect, it, onTestFinished } from "vitest";
import type { Overview } from "../../../src/api/types.ts";
import { spawn } from "../../../src/backends/spawn.ts";
import { systemClock } from "../../../src/backends/system-clock.ts";
import { SessionError } from "../../../src/core/errors.ts";
import type { Process } from "../../../src/core/process/process.ts";
import type { ProcessSnapshot } from "../../../src/core/process/process-snapshot.ts";
import { LocalSession } from "../../../src/core/session/local-session.ts";
import { untilProgramWaits } from "../../../src/services/attention/program-state.ts";
import { Overviews } from "../../../src/services/feed/overviews.ts";
import { eventually, write } from "../../support/reading.ts";
import { shell } from "../../support/starts.ts";

type Look = Process["look"];

const QUESTION = "printf 'Go? '; read x";

/** A program with a prompt, and its overviews. Each inspection passes through `through`. */
async function ask(through: (look: Look) => Promise<ProcessSnapshot | undefined>, program = QUESTION) {
	const over = new AbortController();
	let look: Look = async () => undefined;
	const slowly: typeof spawn = async (command, report) => {
		const program = await spawn(command, report);
		look = program.look.bind(program);
		program.look = () => through(look);
		return program;
	};
	const options = { spawn: slowly, clock: systemClock };
	const session = await LocalSession.start(shell(program), options);
	onTestFinished(async () => {
		over.abort();
		await session.kill();
	});
	// In between, the program would be seen running and not inspected again.
	await eventually("that it has asked, and waits", async () => {
		const sight = await look();
		return session.log.end.offset >= 4 && (sight?.reads || sight?.listens);
	});
	const reported: Overview[] = [];
	const overviews = new Overviews({
		watchersOf: () => 0,
		approvalsOf: () => 0,
		promptsOf: () => 0,
		agents: { current: () => null, lastLine: () => null, read: async () => null },
		changeMs: 1,
		onChange: (_session, overview) => reported.push(overview),
		report: (problem) => {
			throw problem;
		},
	});
	const { signal } = over;
	return {
		session,
		reported,
		follow: () => void overviews.follow(session, signal),
		/** Watches for the wait, as the feed does. */
		noteWait: async (after = 0) =>
			overviews.noteWait(session, (await untilProgramWaits(session, after, signal)).state, signal),
	};
}

it("a known wait stays while its program can't be inspected, and is inspected again without new output", async () => {
	let isBlind = false;
	const { session, reported, follow, noteWait } = await ask((look) =>
		isBlind ? Promise.reject(new Error("blind")) : look(),
	);
	follow();
	await noteWait();
	await eventually("the wait", () => reported.at(-1)?.waiting ?? false);
	isBlind = true;
	await write(session, "ye");
	await eventually("its echo", () => reported.at(-1)?.lastLine === "Go? ye");
	expect(reported.at(-1)?.waiting).toMatchObject({ prompt: "Go?" });
	isBlind = false;
	await eventually("the question with what was typed", () => reported.at(-1)?.waiting?.prompt === "Go? ye");
});

it("a wait of an unreachable session is reported as far as it is known, and inspected again", async () => {
	let isAway = false;
	const { session, reported, follow, noteWait } = await ask((look) => look());
	const inspect = session.inspect.bind(session);
	session.inspect = async () => {
		if (isAway) throw new SessionError("node_unavailable", "its keeper is away");
		return inspect();
	};
	follow();
	await noteWait();
	await eventually("the wait", () => reported.at(-1)?.waiting ?? false);
	isAway = true;
	await write(session, "ye");
	await eventually("its echo", () => reported.at(-1)?.lastLine === "Go? ye");
	expect(reported.at(-1)?.waiting).toMatchObject({ prompt: "Go?" });
	isAway = false;
	await eventually("the question with what was typed", () => reported.at(-1)?.waiting?.prompt === "Go? ye");
});

it("a wait that began before the first follower is found once inspections work again", async () => {
	let isBlind = true;
	const { reported, follow } = await ask((look) => (isBlind ? Promise.reject(new Error("blind")) : look()));
	follow();
	await eventually("how it looks otherwise", () => reported.at(-1)?.lastLine === "Go?");
	// The wait is unknown, which differs from no wait.
	expect(reported.at(-1)).not.toHaveProperty("waiting");
	isBlind = false;
	await eventually("the wait", () => reported.at(-1)?.waiting?.prompt === "Go?");
});

it("a slow inspection does not remove a wait that began meanwhile", async () => {
	let answer = () => {};
	let count = 0;
	const { reported, follow, noteWait } = await ask(async (look) => {
		if (count++ > 0) return look();
		await new Promise<void>((resolve) => {
			answer = resolve;
		});
		const sight = await look();
		// Its state before it asked.
		return sight && { ...sight, runs: true };
	});
	follow();
	await eventually("the first look", () => count === 1);
	await noteWait();
	await eventually("the wait", () => reported.at(-1)?.waiting ?? false);
	const before = reported.length;
	answer();
	await eventually("what came of the first look", () => reported.length > before);
	expect(reported.at(-1)?.waiting).toMatchObject({ prompt: "Go?" });
});

it("a slow inspection of one question does not replace the next question", async () => {
	const program = `${QUESTION}; printf 'Sure? '; read y`;
	const { session, reported, follow, noteWait } = await ask((look) => look(), program);
	const read = session.follow.bind(session);
	let goOn: (() => void) | undefined;
	session.follow = (...how) => {
		if (goOn) return read(...how);
		const items = read(...how);
		const isReleased = new Promise<void>((resolve) => {
			goOn = resolve;
		});
		const next = items.next.bind(items);
		items.next = () => isReleased.then(() => next());
		return items;
	};
	follow();
	await eventually("that the first is read", () => goOn !== undefined);
	await write(session, "yes\n");
	await noteWait(1);
	const before = reported.length;
	goOn?.();
	await eventually("what came of the first", () => reported.length > before);
	expect(reported.slice(before).map(({ waiting }) => waiting?.prompt)).not.toContain("Go?");
});

it("a new question gets its own kind and start time", async () => {
	const program = `${QUESTION}; stty -echo; printf 'Password: '; read y`;
	let isAnswered = false;
	const { session, reported, follow } = await ask(async (look) => {
		for (;;) {
			const sight = await look();
			// In between, the program is not inspected.
			if (!sight || (sight.reads && sight.echo !== isAnswered)) return sight;
		}
	}, program);
	follow();
	const first = await eventually("the first question", () => reported.at(-1)?.waiting ?? false);
	isAnswered = true;
	await write(session, "yes\n");
	const second = await eventually("the second", () => {
		const waiting = reported.at(-1)?.waiting;
		return waiting?.prompt === "Password:" && waiting;
	});
	expect(second).toMatchObject({ kind: "secret" });
	expect(second.since).toBeGreaterThan(first.since);
});

it("a full-screen program also waits when it is seen redrawing", async () => {
	let isBusy = false;
	const editor = "process.stdin.setRawMode(true).pipe(process.stdout)";
	const draws = `printf '\\033[?1049h'; exec '${process.execPath}' -e '${editor}'`;
	const { session, reported, follow, noteWait } = await ask(async (look) => {
		const sight = await look();
		return sight && { ...sight, runs: sight.runs || isBusy };
	}, draws);
	follow();
	await noteWait();
	await eventually("the wait", () => reported.at(-1)?.waiting?.kind === "tui");
	isBusy = true;
	await write(session, "drawn");
	const written = () => reported.at(-1)?.activity.reduce((sum, bytes) => sum + bytes, 0);
	await eventually("what it drew", () => written() === "\x1b[?1049hdrawn".length);
	isBusy = false;
	expect(reported.at(-1)?.waiting).toMatchObject({ kind: "tui" });
});
