/** What a list says of waits while the kernel, or a busy machine, takes its time to say what a program does. */

import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../src/backends/clock.ts";
import { spawn } from "../../../src/backends/spawn.ts";
import { SessionError } from "../../../src/core/errors.ts";
import type { Sight } from "../../../src/core/inspection.ts";
import { LocalSession } from "../../../src/core/local-session.ts";
import type { Process } from "../../../src/core/process.ts";
import { Overviews } from "../../../src/fronts/native/overviews.ts";
import { nextWait } from "../../../src/fronts/program-state.ts";
import type { Overview } from "../../../src/protocol/messages.ts";
import { eventually, write } from "../../helpers/reading.ts";
import { shell } from "../../helpers/starts.ts";

type Look = Process["look"];

const QUESTION = "printf 'Go? '; read x";

/** A program at a question, and how it looks in a list; each look at it passes through `through`. */
async function ask(through: (look: Look) => Promise<Sight | undefined>, program = QUESTION) {
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
	// Between the two it would be seen to run, and nobody would look again.
	await eventually("that it has asked, and waits", async () => {
		const sight = await look();
		return session.log.end.offset >= 4 && (sight?.reads || sight?.listens);
	});
	const told: Overview[] = [];
	const overviews = new Overviews({
		watchersOf: () => 0,
		approvalsOf: () => 0,
		changeMs: 1,
		onChange: (_session, overview) => told.push(overview),
		report: (problem) => {
			throw problem;
		},
	});
	const { signal } = over;
	return {
		session,
		told,
		follow: () => void overviews.follow(session, signal),
		/** As the feed does, which watches for it. */
		noteWait: async (after = 0) => overviews.noteWait(session, (await nextWait(session, after, signal)).state, signal),
	};
}

it("a wait that is known stays while its program can't be looked at, and is looked at again without another byte", async () => {
	let isBlind = false;
	const { session, told, follow, noteWait } = await ask((look) =>
		isBlind ? Promise.reject(new Error("blind")) : look(),
	);
	follow();
	await noteWait();
	await eventually("the wait", () => told.at(-1)?.waiting ?? false);
	isBlind = true;
	await write(session, "ye");
	await eventually("its echo", () => told.at(-1)?.lastLine === "Go? ye");
	expect(told.at(-1)?.waiting).toMatchObject({ prompt: "Go?" });
	isBlind = false;
	await eventually("the question with what was typed", () => told.at(-1)?.waiting?.prompt === "Go? ye");
});

it("one whose session can't be asked for a while is told as far as it is known, and looked at again", async () => {
	let isAway = false;
	const { session, told, follow, noteWait } = await ask((look) => look());
	const inspect = session.inspect.bind(session);
	session.inspect = async () => {
		if (isAway) throw new SessionError("node_unavailable", "its keeper is away");
		return inspect();
	};
	follow();
	await noteWait();
	await eventually("the wait", () => told.at(-1)?.waiting ?? false);
	isAway = true;
	await write(session, "ye");
	await eventually("its echo", () => told.at(-1)?.lastLine === "Go? ye");
	expect(told.at(-1)?.waiting).toMatchObject({ prompt: "Go?" });
	isAway = false;
	await eventually("the question with what was typed", () => told.at(-1)?.waiting?.prompt === "Go? ye");
});

it("one that waits since before anybody followed is found when it can be looked at again", async () => {
	let isBlind = true;
	const { told, follow } = await ask((look) => (isBlind ? Promise.reject(new Error("blind")) : look()));
	follow();
	await eventually("how it looks otherwise", () => told.at(-1)?.lastLine === "Go?");
	expect(told.at(-1)?.waiting).toBeNull();
	isBlind = false;
	await eventually("the wait", () => told.at(-1)?.waiting?.prompt === "Go?");
});

it("an answer that was long under way does not take back the wait that has begun since", async () => {
	let answer = () => {};
	let count = 0;
	const { told, follow, noteWait } = await ask(async (look) => {
		if (count++ > 0) return look();
		await new Promise<void>((resolve) => {
			answer = resolve;
		});
		const sight = await look();
		// As it was before it asked.
		return sight && { ...sight, runs: true };
	});
	follow();
	await eventually("the first look", () => count === 1);
	await noteWait();
	await eventually("the wait", () => told.at(-1)?.waiting ?? false);
	const before = told.length;
	answer();
	await eventually("what came of the first look", () => told.length > before);
	expect(told.at(-1)?.waiting).toMatchObject({ prompt: "Go?" });
});

it("a question that is still being read does not take the place of the next one", async () => {
	const program = `${QUESTION}; printf 'Sure? '; read y`;
	const { session, told, follow, noteWait } = await ask((look) => look(), program);
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
	const before = told.length;
	goOn?.();
	await eventually("what came of the first", () => told.length > before);
	expect(told.slice(before).map(({ waiting }) => waiting?.prompt)).not.toContain("Go?");
});

it("another question than the one that is known has a kind and a beginning of its own", async () => {
	const program = `${QUESTION}; stty -echo; printf 'Password: '; read y`;
	let isAnswered = false;
	const { session, told, follow } = await ask(async (look) => {
		for (;;) {
			const sight = await look();
			// Nobody sees it between the two.
			if (!sight || (sight.reads && sight.echo !== isAnswered)) return sight;
		}
	}, program);
	follow();
	const first = await eventually("the first question", () => told.at(-1)?.waiting ?? false);
	isAnswered = true;
	await write(session, "yes\n");
	const second = await eventually("the second", () => {
		const waiting = told.at(-1)?.waiting;
		return waiting?.prompt === "Password:" && waiting;
	});
	expect(second).toMatchObject({ kind: "secret" });
	expect(second.since).toBeGreaterThan(first.since);
});

it("a program that has the screen to itself waits also when it is seen to draw", async () => {
	let isBusy = false;
	const editor = "process.stdin.setRawMode(true).pipe(process.stdout)";
	const draws = `printf '\\033[?1049h'; exec '${process.execPath}' -e '${editor}'`;
	const { session, told, follow, noteWait } = await ask(async (look) => {
		const sight = await look();
		return sight && { ...sight, runs: sight.runs || isBusy };
	}, draws);
	follow();
	await noteWait();
	await eventually("the wait", () => told.at(-1)?.waiting?.kind === "tui");
	isBusy = true;
	await write(session, "drawn");
	const written = () => told.at(-1)?.activity.reduce((sum, bytes) => sum + bytes, 0);
	await eventually("what it drew", () => written() === "\x1b[?1049hdrawn".length);
	isBusy = false;
	expect(told.at(-1)?.waiting).toMatchObject({ kind: "tui" });
});
