/** What a list says of waits while the kernel, or a busy machine, takes its time to say what a program does. */

import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../src/backends/clock.ts";
import { spawn } from "../../../src/backends/spawn.ts";
import type { Sight } from "../../../src/core/inspection.ts";
import { LocalSession } from "../../../src/core/local-session.ts";
import type { Process } from "../../../src/core/process.ts";
import { Overviews } from "../../../src/fronts/native/overviews.ts";
import { nextWait } from "../../../src/fronts/program-state.ts";
import type { Overview } from "../../../src/protocol/messages.ts";
import { eventually, write } from "../../helpers/reading.ts";
import { shell } from "../../helpers/starts.ts";

type Look = Process["look"];

/** A program at a question, and how it looks in a list; each look at it passes through `through`. */
async function ask(through: (look: Look) => Promise<Sight | undefined>) {
	const over = new AbortController();
	const slowly: typeof spawn = async (command, report) => {
		const program = await spawn(command, report);
		const look = program.look.bind(program);
		program.look = () => through(look);
		return program;
	};
	const options = { spawn: slowly, clock: systemClock };
	const session = await LocalSession.start(shell("printf 'Go? '; read x"), options);
	onTestFinished(async () => {
		over.abort();
		await session.kill();
	});
	await eventually("the question", () => session.log.end.offset === 4);
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
		noteWait: async () => overviews.noteWait(session, (await nextWait(session, 0, signal)).state, signal),
	};
}

it("a wait that is known stays while its program can't be looked at, and is looked at again without another byte", async () => {
	let isBlind = false;
	const { session, told, follow } = await ask((look) => (isBlind ? Promise.reject(new Error("blind")) : look()));
	follow();
	await eventually("the wait", () => told.at(-1)?.waiting);
	isBlind = true;
	await write(session, "ye");
	await eventually("its echo", () => told.at(-1)?.lastLine === "Go? ye");
	expect(told.at(-1)?.waiting).toMatchObject({ prompt: "Go?" });
	isBlind = false;
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
	await eventually("the wait", () => told.at(-1)?.waiting);
	const before = told.length;
	answer();
	await eventually("what came of the first look", () => told.length > before);
	expect(told.at(-1)?.waiting).toMatchObject({ prompt: "Go?" });
});
