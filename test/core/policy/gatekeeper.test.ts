/** The gatekeeper under concurrency, on real terminals. Its routes are tested with a server. */

import { expect, it, onTestFinished } from "vitest";
import { fullAccess } from "../../../src/access/fixed-access.ts";
import { spawn } from "../../../src/backends/spawn.ts";
import { systemClock } from "../../../src/backends/system-clock.ts";
import type { Receipt, StreamPosition } from "../../../src/core/input/action.ts";
import { type Approval, Approvals } from "../../../src/core/policy/approvals.ts";
import { combineGates, GATE_TIMEOUT_MS, type Gate } from "../../../src/core/policy/gate.ts";
import { GateChecks } from "../../../src/core/policy/gates.ts";
import { SplitInput } from "../../../src/core/policy/split-input.ts";
import { LocalSession } from "../../../src/core/session/local-session.ts";
import type { Operation, OperationRequest } from "../../../src/core/session/operations.ts";
import { eventually, outputUntil } from "../../support/reading.ts";
import { startOf } from "../../support/starts.ts";

const gate: Gate = { match: ["rm -rf"], keys: "enter", signals: false, stops: false, timeoutMs: GATE_TIMEOUT_MS };
const person = fullAccess("person");
const refused = { code: "not_approved" };

type Way = {
	readonly whole?: SplitInput;
	readonly origin?: StreamPosition;
	/** Before it is applied. */
	readonly before?: () => Promise<unknown>;
};

/** A terminal that shows each line a second time, and an agent that types into it. */
async function open(own: Partial<Gate> = {}) {
	let last = 0;
	const approvals = new Approvals({ clock: systemClock, newId: () => `approval-${++last}` });
	const gatekeeper = new GateChecks({
		approvals,
		judge: async (_account, expressions, text) =>
			expressions.some((one) => new RegExp(one, "m").test(text)) ? "match" : undefined,
		digest: () => "",
		clock: systemClock,
		isOlder: () => false,
	});
	const session = await LocalSession.start(startOf(["cat"]), { spawn, clock: systemClock });
	onTestFinished(() => session.kill());
	const guard = gatekeeper.guard(fullAccess("agent"), { ...gate, ...own }, { gone: undefined, onHold: () => {} });
	const type = (typed: string | Uint8Array, { whole, origin, before }: Way = {}): Promise<Receipt> => {
		const bytes = typeof typed === "string" ? Buffer.from(typed) : typed;
		const perform = async (question: OperationRequest<"act">) => {
			await before?.();
			return session.ask(question);
		};
		const question = { do: "act", act: { kind: "write", bytes }, options: origin ? { origin } : {} } as const;
		return guard.pass<"act">(session, question, { perform, record: () => {}, whole });
	};
	const ask = <Name extends Operation>(question: OperationRequest<Name>) =>
		guard.pass<Name>(session, question, {
			perform: (allowed) => session.ask(allowed),
			record: () => {},
			whole: undefined,
		});
	const held = (): Promise<Approval> => eventually("something to approve", () => approvals.list(person)[0]);
	const grant = async () => approvals.decide(person, (await held()).id, { decision: "grant", evenIfChanged: true });
	return { session, approvals, type, ask, held, grant };
}

it("input that arrives during other input is judged together with it, and not before", async () => {
	const { type, held, approvals } = await open();
	const slow = type("rm -", { before: () => new Promise((resolve) => setImmediate(resolve)) });
	const ending = type("rf it\r");
	const { id, preview } = await held();
	expect(preview).toBe("rm -rf it\n");
	await slow;
	await approvals.decide(person, id, { decision: "deny" });
	await expect(ending).rejects.toMatchObject(refused);
});

it("an approved text in parts needs approval again when other input came between them", async () => {
	const { type, held, grant, approvals, session } = await open();
	const origin = { stream: "agent", position: 0 };
	const whole = new SplitInput({ bytes: Buffer.from("rm -rf it\r"), origin });
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

it("an approved action is not applied when control changes hands at the last moment", async () => {
	const { type, grant, session } = await open();
	const before = () => session.acquire("ada", { exclusive: false, take: true });
	const typing = type("rm -rf it\r", { before });
	typing.catch(() => {});
	expect(await grant()).toMatchObject({ state: "granted" });
	await expect(typing).rejects.toMatchObject({ code: "not_writable" });
});

it("input that could not be typed, because another client has control, asks for no approval", async () => {
	const { type, session, approvals } = await open();
	await session.acquire("ada", { exclusive: true, take: false });
	const asked: string[] = [];
	approvals.watch(({ state }) => asked.push(state));
	await expect(type("rm -rf it\r")).rejects.toMatchObject({ code: "not_writable" });
	expect(asked).toEqual([]);
});

it("the applied bytes are the approved ones, whatever the caller did to its buffer", async () => {
	const { type, held, grant, session } = await open();
	const bytes = new Uint8Array(Buffer.from("rm -rf it\r"));
	const typing = type(bytes);
	await held();
	bytes.set(Buffer.from("rm -rf / "));
	await grant();
	await typing;
	await outputUntil(session, /rm -rf it\r\nrm -rf it\r\n$/);
});

it("two concurrent approvals count once", async () => {
	const { type, held, grant, session } = await open();
	const typing = type("rm -rf it\r");
	await held();
	const outcomes = await Promise.allSettled([grant(), grant()]);
	expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
	await typing;
	await outputUntil(session, /rm -rf it\r\nrm -rf it\r\n$/);
});

it("a repeat asks for no second approval, also where each key is checked", async () => {
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

it("an answer to a question is judged like all typed input", async () => {
	const { ask, held, approvals, session } = await open();
	const at = (await session.info()).offsets.end;
	const act = { kind: "write", bytes: Buffer.from("rm -rf it\r") } as const;
	const answering = ask<"actIfWaiting">({ do: "actIfWaiting", act, at, options: {} });
	const refusal = expect(answering).rejects.toMatchObject(refused);
	await approvals.decide(person, (await held()).id, { decision: "deny" });
	await refusal;
});

it("a timeout ends a program although its caller may not end it alone", async () => {
	const { ask, session, approvals } = await open({ stops: true });
	const asked: string[] = [];
	approvals.watch(({ state }) => asked.push(state));
	await ask<"kill">({ do: "kill", options: { reason: "timeout", graceMs: 0 } });
	expect({ status: session.state.exit?.reason, asked }).toEqual({ status: "timeout", asked: [] });
});

it.each<OperationRequest>([
	{ do: "secret", bytes: Buffer.from("rm -rf it"), options: {} },
	{ do: "reply", end: 0, text: "rm -rf it\r" },
])("invisible text and terminal replies are refused to a gated caller: %j", async (question) => {
	const { ask } = await open({ match: [] });
	await expect(ask(question)).rejects.toMatchObject({ code: "permission_denied" });
});

it("a token has the stricter of its creator's gate and its own", () => {
	const strict: Gate = { match: ["a"], keys: "all", signals: true, stops: true, timeoutMs: 1_000 };
	const other: Gate = { match: ["a", "b"], keys: "enter", signals: false, stops: false, timeoutMs: 2_000 };
	const all = { ...strict, match: ["a", "b"] };
	expect([combineGates(strict, other), combineGates(other, strict)]).toEqual([all, all]);
	expect([combineGates(null, strict), combineGates(strict, null), combineGates(null, null)]).toEqual([
		strict,
		strict,
		null,
	]);
});
