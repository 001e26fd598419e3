/** The gatekeeper where several things happen at once, on real terminals; its roads are tested with a server. */

import { expect, it, onTestFinished } from "vitest";
import { everything } from "../../src/access/fixed.ts";
import { systemClock } from "../../src/backends/clock.ts";
import { spawn } from "../../src/backends/spawn.ts";
import type { Origin, Receipt } from "../../src/core/act.ts";
import { type Approval, Approvals } from "../../src/core/approvals.ts";
import { both, GATE_TIMEOUT_MS, type Gate } from "../../src/core/gate.ts";
import { Gatekeeper } from "../../src/core/gatekeeper.ts";
import { LocalSession } from "../../src/core/local-session.ts";
import type { Operation, Question } from "../../src/core/session.ts";
import { Whole } from "../../src/core/typed-whole.ts";
import { eventually, outputUntil } from "../helpers/reading.ts";
import { startOf } from "../helpers/starts.ts";

const gate: Gate = { match: ["rm -rf"], keys: "enter", signals: false, stops: false, timeoutMs: GATE_TIMEOUT_MS };
const person = everything("person");
const refused = { code: "not_approved" };

type Way = {
	readonly whole?: Whole;
	readonly origin?: Origin;
	/** Before it is done. */
	readonly before?: () => Promise<unknown>;
};

/** A terminal that shows each line a second time, and an agent that types into it. */
async function open(own: Partial<Gate> = {}) {
	let last = 0;
	const approvals = new Approvals({ clock: systemClock, newId: () => `approval-${++last}` });
	const gatekeeper = new Gatekeeper({
		approvals,
		judge: async (_account, expressions, text) =>
			expressions.some((one) => new RegExp(one, "m").test(text)) ? "match" : undefined,
		digest: () => "",
		clock: systemClock,
		isOlder: () => false,
	});
	const session = await LocalSession.start(startOf(["cat"]), { spawn, clock: systemClock });
	onTestFinished(() => session.kill());
	const guard = gatekeeper.guard(everything("agent"), { ...gate, ...own }, { gone: undefined, onHold: () => {} });
	const type = (typed: string | Uint8Array, { whole, origin, before }: Way = {}): Promise<Receipt> => {
		const bytes = typeof typed === "string" ? Buffer.from(typed) : typed;
		const perform = async (question: Question<"act">) => {
			await before?.();
			return session.ask(question);
		};
		const question = { do: "act", act: { kind: "write", bytes }, options: origin ? { origin } : {} } as const;
		return guard.pass<"act">(session, question, { perform, tell: () => {}, whole });
	};
	const ask = <Name extends Operation>(question: Question<Name>) =>
		guard.pass<Name>(session, question, {
			perform: (allowed) => session.ask(allowed),
			tell: () => {},
			whole: undefined,
		});
	const held = (): Promise<Approval> => eventually("something to approve", () => approvals.list(person)[0]);
	const grant = async () => approvals.decide(person, (await held()).id, { decision: "grant", evenIfChanged: true });
	return { session, approvals, type, ask, held, grant };
}

it("what comes while something is typed is judged with it, and not before", async () => {
	const { type, held, approvals } = await open();
	const slow = type("rm -", { before: () => new Promise((resolve) => setImmediate(resolve)) });
	const ending = type("rf it\r");
	const { id, preview } = await held();
	expect(preview).toBe("rm -rf it\n");
	await slow;
	await approvals.decide(person, id, { decision: "deny" });
	await expect(ending).rejects.toMatchObject(refused);
});

it("a text in parts that was approved is asked for again when something else has come between them", async () => {
	const { type, held, grant, approvals, session } = await open();
	const origin = { stream: "agent", position: 0 };
	const whole = new Whole({ bytes: Buffer.from("rm -rf it\r"), origin });
	const first = type("rm -rf ", { whole, origin });
	await grant();
	await first;
	const second = { whole, origin: { ...origin, position: 7 } };
	await type("i", second);
	await type("x");
	const third = type("t\r", { whole, origin: { ...origin, position: 8 } });
	const { id, preview } = await held();
	expect(preview).toBe("rm -rf ixt\n");
	await approvals.decide(person, id, { decision: "deny" });
	await expect(third).rejects.toMatchObject(refused);
	await outputUntil(session, /rm -rf ix$/);
});

it("what was approved is not done when control changes hands in the last moment", async () => {
	const { type, grant, session } = await open();
	const before = () => session.acquire("somebody", { exclusive: false, take: true });
	const typing = type("rm -rf it\r", { before });
	typing.catch(() => {});
	expect(await grant()).toMatchObject({ state: "granted" });
	await expect(typing).rejects.toMatchObject({ code: "not_writable" });
});

it("nobody is asked for what could not be typed, because somebody else has control", async () => {
	const { type, session, approvals } = await open();
	await session.acquire("somebody", { exclusive: true, take: false });
	const asked: string[] = [];
	approvals.watch(({ state }) => asked.push(state));
	await expect(type("rm -rf it\r")).rejects.toMatchObject({ code: "not_writable" });
	expect(asked).toEqual([]);
});

it("what is done is what was approved, whatever has become of the bytes since", async () => {
	const { type, held, grant, session } = await open();
	const bytes = new Uint8Array(Buffer.from("rm -rf it\r"));
	const typing = type(bytes);
	await held();
	bytes.set(Buffer.from("rm -rf / "));
	await grant();
	await typing;
	await outputUntil(session, /rm -rf it\r\nrm -rf it\r\n$/);
});

it("who grants twice at the same moment has granted once", async () => {
	const { type, held, grant, session } = await open();
	const typing = type("rm -rf it\r");
	await held();
	const outcomes = await Promise.allSettled([grant(), grant()]);
	expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
	await typing;
	await outputUntil(session, /rm -rf it\r\nrm -rf it\r\n$/);
});

it("what is repeated is not asked for again, also where each key is looked at", async () => {
	const { type, grant, session, approvals } = await open({ keys: "all" });
	const origin = { stream: "agent", position: 0 };
	const typing = type("rm -rf it", { origin });
	await grant();
	await typing;
	const repeat = type("rm -rf it", { origin });
	await Promise.race([repeat, eventually("a second question", () => approvals.list(person)[0])]);
	expect(approvals.list(person)).toEqual([]);
	await outputUntil(session, /^rm -rf it$/);
});

it("what answers a question is judged as everything that is typed", async () => {
	const { ask, held, approvals, session } = await open();
	const at = (await session.info()).offsets.end;
	const act = { kind: "write", bytes: Buffer.from("rm -rf it\r") } as const;
	const answering = ask<"actIfWaiting">({ do: "actIfWaiting", act, at, options: {} });
	const refusal = expect(answering).rejects.toMatchObject(refused);
	await approvals.decide(person, (await held()).id, { decision: "deny" });
	await refusal;
});

it("a program is ended by who may not end it alone when its time is over", async () => {
	const { ask, session, approvals } = await open({ stops: true });
	const asked: string[] = [];
	approvals.watch(({ state }) => asked.push(state));
	await ask<"kill">({ do: "kill", options: { reason: "timeout", graceMs: 0 } });
	expect({ status: session.state.exit?.reason, asked }).toEqual({ status: "timeout", asked: [] });
});

it.each<Question>([
	{ do: "secret", bytes: Buffer.from("rm -rf it"), options: {} },
	{ do: "reply", end: 0, text: "rm -rf it\r" },
])("what nobody may see, or the terminal says, is not for who has a gate: %j", async (question) => {
	const { ask } = await open({ match: [] });
	await expect(ask(question)).rejects.toMatchObject({ code: "permission_denied" });
});

it("a token has of its maker's gate and its own whatever is stricter", () => {
	const strict: Gate = { match: ["a"], keys: "all", signals: true, stops: true, timeoutMs: 1_000 };
	const other: Gate = { match: ["a", "b"], keys: "enter", signals: false, stops: false, timeoutMs: 2_000 };
	const all = { ...strict, match: ["a", "b"] };
	expect([both(strict, other), both(other, strict)]).toEqual([all, all]);
	expect([both(null, strict), both(strict, null), both(null, null)]).toEqual([strict, strict, null]);
});
