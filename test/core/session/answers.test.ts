/** An answer reaches the question that it was meant for, or none. */

import { randomInt } from "node:crypto";
import { describe, expect, it, onTestFinished } from "vitest";
import { spawn } from "../../../src/backends/spawn.ts";
import { systemClock } from "../../../src/backends/system-clock.ts";
import { SessionError } from "../../../src/core/errors.ts";
import type { ActOptions } from "../../../src/core/input/action.ts";
import { isWaitingForInput } from "../../../src/core/inspect/inspection.ts";
import { LocalSession } from "../../../src/core/session/local-session.ts";
import type { Session } from "../../../src/core/session/session.ts";
import { KeeperSite } from "../../support/keeper-site.ts";
import { eventually, outputUntil } from "../../support/reading.ts";
import { startOf } from "../../support/starts.ts";

async function local(argv: readonly string[]): Promise<Session> {
	const session = await LocalSession.start(startOf(argv), { spawn, clock: systemClock });
	onTestFinished(() => session.kill({ graceMs: 0 }));
	return session;
}

async function kept(argv: readonly string[]): Promise<Session> {
	const site = await KeeperSite.create();
	const { keepers } = await site.open();
	return keepers.start(startOf(argv));
}

const bytes = (text: string) => new TextEncoder().encode(text);
const type = (session: Session, text: string) => session.act({ kind: "write", bytes: bytes(text) });
const answer = (session: Session, text: string, at: number, options?: ActOptions) =>
	session.actIfWaiting({ kind: "write", bytes: bytes(text) }, at, options);
/** The error code of the refusal, or the number of bytes accepted. */
const outcome = (session: Session, text: string, at: number) =>
	answer(session, text, at).then(
		({ accepted }) => accepted,
		(error: unknown) => SessionError.from(error).code,
	);

const waits = (session: Session) =>
	eventually("a wait", async () => {
		const found = await session.inspect();
		return isWaitingForInput(found) && found.offset > 0 ? found : undefined;
	});

/** Asks this many questions and prints the answer to each. */
const quiz = (count: number) => [
	"bash",
	"-c",
	`for i in $(seq ${count}); do read -p "Q$i? " a; echo "heard<$i:$a>"; done; echo over`,
];

describe.each([
	["in this process", local],
	["in a keeper", kept],
])("a session %s", (_where, start) => {
	it("a session accepts an answer to its current question, and none to an earlier one", async () => {
		const session = await start(quiz(2));
		const first = await waits(session);
		expect(await outcome(session, "wrong\n", first.offset - 1)).toBe("not_waiting");
		expect(await outcome(session, "one\n", first.offset)).toBe(4);
		await outputUntil(session, /Q2\? /);
		expect(await outcome(session, "late\n", first.offset)).toBe("not_waiting");
		const second = await waits(session);
		expect(await outcome(session, "two\n", second.offset)).toBe(4);
		expect(await outputUntil(session, /over/)).toMatch(/heard<1:one>[\s\S]*heard<2:two>/);
		expect(await outcome(session, "x\n", second.offset)).not.toBe(2);
	});

	it("a session acknowledges a repeat of an accepted answer, whatever it asks by then", async () => {
		const session = await start(quiz(2));
		const { offset } = await waits(session);
		const origin = { stream: "s", position: 0 };
		expect(await answer(session, "one\n", offset, { origin })).toMatchObject({ next: 4, accepted: 4 });
		await outputUntil(session, /Q2\? /);
		expect(await answer(session, "one\n", offset, { origin })).toMatchObject({ next: 4, accepted: 0 });
		await type(session, "two\n");
		expect(await outputUntil(session, /over/)).toMatch(/heard<1:one>[\s\S]*heard<2:two>/);
	});

	it("a session accepts one of several concurrent answers, although none is echoed", async () => {
		const rounds = 25;
		const script = `stty -echo; for i in $(seq ${rounds}); do read a; echo "heard<$a>"; done; read a; echo "then<$a>"`;
		const session = await start(["bash", "-c", script]);
		const taken: string[] = [];
		for (let round = 0; round < rounds; round++) {
			const { offset } = await eventually("a secret", async () => {
				const found = await session.inspect();
				return found.kind === "secret" && taken.length === round ? found : undefined;
			});
			const texts = ["one", "two", "three", "four"].map((name) => `${round}-${name}`);
			const outcomes = await Promise.all(texts.map((text) => outcome(session, `${text}\n`, offset)));
			taken.push(...texts.filter((_, index) => outcomes[index] !== "not_waiting"));
			expect(taken).toHaveLength(round + 1);
			await outputUntil(session, new RegExp(`heard<${taken.at(-1)}>`));
		}
		await type(session, "last\n");
		const heard = [...(await outputUntil(session, /then<\w+>/)).matchAll(/<([^>]*)>/g)].map(([, text]) => text);
		expect(heard).toEqual([...taken, "last"]);
	});

	it("a session accepts no answer while it does not wait", async () => {
		const session = await start(["bash", "-c", "echo busy; sleep 60"]);
		await outputUntil(session, /busy/);
		expect(await outcome(session, "x\n", 6)).toBe("not_waiting");
	});
});

it("with any timing of answers and other input, no answer reaches another question", async () => {
	const count = 40;
	const session = await local(quiz(count));
	const asked = { taken: 0, refused: 0 };
	const isOver = () => session.state.status !== "running";
	let text = "";
	const reading = (async () => {
		for await (const item of session.follow({ offset: 0 })) {
			if (item.kind === "output") text += Buffer.from(item.bytes).toString("latin1");
		}
	})();
	/** Answers the last question that it saw, some time later. */
	const person = async (name: string) => {
		while (!isOver()) {
			const offset = text.length;
			const question = [...text.matchAll(/Q(\d+)\? /g)].at(-1)?.[1];
			for (let turns = randomInt(40); turns > 0; turns--) await new Promise(setImmediate);
			const result = await outcome(session, `${question}-${name}\n`, offset);
			if (typeof result === "number") asked.taken++;
			else asked.refused++;
		}
	};
	/** Presses Enter at some questions, which gives an empty answer to the current one. */
	const cat = async () => {
		for await (const item of session.follow({ offset: 0 })) {
			if (item.kind !== "output" || randomInt(3) > 0) continue;
			for (let turns = randomInt(1_000); turns > 0; turns--) await new Promise(setImmediate);
			await type(session, "\n").catch(() => {});
		}
	};
	await Promise.all([person("ann"), person("bob"), person("eve"), cat()]);
	await reading;
	const heard = [...text.matchAll(/heard<(\d+):([^>]*)>/g)];
	expect(heard).toHaveLength(count);
	for (const [, question, answer] of heard) {
		if (answer !== "") expect(answer).toMatch(new RegExp(`^${question}-(ann|bob|eve)$`));
	}
	const answered = heard.filter(([, , text]) => text !== "").length;
	expect(answered).toBeGreaterThan(0);
	expect(asked.taken).toBe(answered);
});
