/** Input typed through a gate is exactly what was judged, however else the input stream moves meanwhile. */

import { expect, it, onTestFinished } from "vitest";
import { fullAccess } from "../../../src/access/fixed-access.ts";
import { spawn } from "../../../src/backends/spawn.ts";
import { systemClock } from "../../../src/backends/system-clock.ts";
import { SessionError } from "../../../src/core/errors.ts";
import type { Action, ActOptions, Receipt } from "../../../src/core/input/action.ts";
import { INPUT_WINDOW_BYTES } from "../../../src/core/input/input-queue.ts";
import { Approvals } from "../../../src/core/policy/approvals.ts";
import { noAudit } from "../../../src/core/policy/audit.ts";
import { AuditedCaller } from "../../../src/core/policy/audited-caller.ts";
import { GATE_TIMEOUT_MS, type Gate } from "../../../src/core/policy/gate.ts";
import { GateChecks } from "../../../src/core/policy/gates.ts";
import { SplitInput } from "../../../src/core/policy/split-input.ts";
import { LocalSession } from "../../../src/core/session/local-session.ts";
import type { Operation, OperationRequest, Operations } from "../../../src/core/session/operations.ts";
import { sendInParts } from "../../../src/core/session/send-input.ts";
import type { SessionStart } from "../../../src/core/session/session-info.ts";
import type { RunOutcome } from "../../../src/core/shell/run-command.ts";
import { eventually, outputUntil } from "../../support/reading.ts";
import { rawShell, startOf } from "../../support/starts.ts";

const gate: Gate = { match: ["^touch"], keys: "enter", signals: false, stops: false, timeoutMs: GATE_TIMEOUT_MS };
const person = fullAccess("person");
const agent = fullAccess("agent");
const size = { cols: 100, rows: 30 };
const movedOn = {
	code: "not_approved",
	message: expect.stringMatching(/other input was sent on its stream since it was judged/),
	hint: expect.stringMatching(/on a stream that nothing else uses/),
};

/** A terminal that shows only its program's input. */
const recorder = () => rawShell("printf ready; exec cat");

async function open(own: Partial<Gate> = {}, start: SessionStart = recorder()) {
	let last = 0;
	const approvals = new Approvals({ clock: systemClock, newId: () => `approval-${++last}` });
	const gatekeeper = new GateChecks({
		approvals,
		judge: async (_account, expressions, text) =>
			expressions.some((one) => new RegExp(one, "m").test(text)) ? "match" : undefined,
		digest: (bytes) => Buffer.from(bytes).toString("hex"),
		clock: systemClock,
		isOlder: () => false,
	});
	const session = await LocalSession.start(start, { spawn, clock: systemClock });
	onTestFinished(() => session.kill());
	if (start.spec.argv.join(" ").includes("printf ready")) await outputUntil(session, /ready/);
	const guard = gatekeeper.guard(agent, { ...gate, ...own }, { gone: undefined, onHold: () => {} });
	const guarded = <Name extends Operation>(
		question: OperationRequest<Name>,
		perform: (allowed: OperationRequest<Name>) => Promise<Operations[Name]["answer"]>,
		whole?: SplitInput,
	) => guard.pass<Name>(session, question, { perform, record: () => {}, whole });
	const ask = <Name extends Operation>(
		question: OperationRequest<Name>,
		before?: () => Promise<unknown>,
		whole?: SplitInput,
	) =>
		guarded<Name>(
			question,
			async (allowed) => {
				await before?.();
				return session.ask(allowed);
			},
			whole,
		);
	const act = (act: Action, options: ActOptions = {}, before?: () => Promise<unknown>): Promise<Receipt> =>
		ask<"act">({ do: "act", act, options }, before);
	const type = (text: string, position?: number, before?: () => Promise<unknown>): Promise<Receipt> =>
		act({ kind: "write", bytes: Buffer.from(text) }, position === undefined ? {} : at(position), before);
	const held = () => eventually("something to approve", () => approvals.list(person)[0]);
	const decide = async (decision: "grant" | "deny") =>
		approvals.decide(person, (await held()).id, { decision, evenIfChanged: true });
	/** The program's input, once it has all of it. */
	const received = async () => {
		await session.act({ kind: "write", bytes: Buffer.from("<end>") });
		return (await outputUntil(session, /<end>$/)).replace(/^ready|<end>$/g, "");
	};
	return { session, approvals, guard, guarded, ask, act, type, held, decide, received };
}

const at = (position: number) => ({ origin: { stream: "agent", position } });
const resize = (position: number) => [{ kind: "resize", size }, at(position)] as const;

it("resizes on the stream of held input invalidate the approval: nothing of the input is typed", async () => {
	const { type, act, held, decide, received } = await open({ match: ["#touch"] });
	const typing = type("#touch x\r", 0);
	expect(await held()).toMatchObject({ preview: "#touch x\n", sha256: Buffer.from("#touch x\r").toString("hex") });
	expect(await act(...resize(0))).toMatchObject({ next: 1 });
	const refusal = expect(typing).rejects.toMatchObject(movedOn);
	expect(await decide("grant")).toMatchObject({ state: "granted" });
	await refusal;
	expect(await received()).toBe("");
});

it("a resize of the same caller waits until earlier judged input is typed", async () => {
	const { type, act, received } = await open();
	const turn = () => new Promise((resolve) => setImmediate(resolve));
	const [typed, resized] = await Promise.allSettled([type("#touch x\r", 0, turn), act(...resize(0))]);
	expect(typed).toMatchObject({ status: "fulfilled", value: { next: 9, accepted: 9 } });
	// By then the position is that of the text.
	expect(resized).toMatchObject({ status: "fulfilled", value: { next: 9, accepted: 0 } });
	expect(await received()).toBe("#touch x\r");
});

it("input is not typed without its beginning when another caller moves its stream after the judgment", async () => {
	const { session, type, received } = await open();
	const before = () => session.act(...resize(0));
	await expect(type("#touch x\r", 0, before)).rejects.toMatchObject(movedOn);
	expect(await received()).toBe("");
});

it("the part that the stream already has is neither judged nor typed, and the rest is", async () => {
	const { act, type, held, decide, received } = await open();
	await act(...resize(0));
	const typing = type("#touch x\r", 0);
	expect(await held()).toMatchObject({ preview: "touch x\n", sha256: Buffer.from("touch x\r").toString("hex") });
	const refusal = expect(typing).rejects.toMatchObject({ code: "not_approved" });
	await decide("deny");
	await refusal;
	expect(await received()).toBe("");
});

it("a repeat of a stream that was forgotten meanwhile is not typed again", async () => {
	const { session, type, received } = await open();
	await type("ls\r", 0);
	const before = () => session.forgetStream("agent");
	await expect(type("ls\r", 0, before)).rejects.toMatchObject(movedOn);
	expect(await received()).toBe("ls\r");
});

it("a caller can't close a stream between the judgment of its input and the write", async () => {
	const { ask, type, received } = await open();
	await type("x", 0);
	const turn = () => new Promise((resolve) => setImmediate(resolve));
	const typing = type("xtouch x\r", 0, turn);
	await Promise.all([typing.catch(() => {}), ask<"forgetStream">({ do: "forgetStream", stream: "agent" })]);
	expect(await received()).toBe("xtouch x\r");
});

it.each<[string, Action]>([
	["a signal", { kind: "signal", signal: "KILL" }],
	["an end of input", { kind: "eof" }],
	["input", { kind: "write", bytes: Buffer.from("x") }],
])("an approved %s is refused when other input used its position, and does not count as a repeat", async (_, held) => {
	const { act, decide, session, received, ...gated } = await open({ signals: true, match: ["x"], keys: "all" });
	await act({ kind: "write", bytes: Buffer.from("y") });
	const acting = act(held, at(0));
	const refusal = expect(acting).rejects.toMatchObject(movedOn);
	await gated.held();
	await session.act(...resize(0));
	expect(await decide("grant")).toMatchObject({ state: "granted" });
	await refusal;
	expect(await received()).toBe("y");
});

it.each([
	{ by: "with a gate", refusals: ["not_approved", "invalid_argument"] },
	{ by: "without a gate", refusals: ["conflict", "invalid_argument"] },
])("a command of a caller $by loses none of its beginning to a resize at any time", async ({ by, refusals }) => {
	const { guarded, session, received } = await open({}, startOf(["sh"]));
	await session.untilWaiting(0);
	const outcomes: string[] = [];
	for (let delay = 0; delay < 30; delay++) {
		const origin = { stream: `run ${delay}`, position: 0 };
		const run: OperationRequest<"run"> = {
			do: "run",
			command: "#touch /nowhere/x",
			timeoutMs: 5_000,
			options: { origin },
		};
		const perform = async (allowed: OperationRequest<"run">) => {
			const answer = session.ask(allowed);
			for (let turn = 0; turn < delay; turn++) await (turn < 20 ? undefined : new Promise(setImmediate));
			await session.act({ kind: "resize", size }, { origin });
			return answer;
		};
		const running = by === "with a gate" ? guarded<"run">(run, perform) : perform(run);
		const outcome = running.then(
			({ status }) => status,
			(error: unknown) => SessionError.from(error).code,
		);
		outcomes.push(await outcome);
	}
	expect(["ended", ...refusals]).toEqual(expect.arrayContaining(outcomes));
	expect(outcomes).toContain(refusals[0]);
	expect(await received()).not.toMatch(/cannot touch|No such/);
});

it("a command is not run again as the repeat of one whose stream was forgotten meanwhile", async () => {
	const { ask, session, received } = await open({}, startOf(["sh"]));
	const run = (command: string, before?: () => Promise<unknown>): Promise<RunOutcome> =>
		ask<"run">({ do: "run", command, timeoutMs: 5_000, options: at(0) }, before);
	await run("true");
	await expect(run("touch /nowhere/x", () => session.forgetStream("agent"))).rejects.toMatchObject(movedOn);
	expect(await received()).not.toMatch(/nowhere/);
});

it("an approved text in parts is judged again when the stream moved between them", async () => {
	const { ask, held, decide, act, received, approvals } = await open({ match: ["touch"] });
	const whole = new SplitInput({ bytes: Buffer.from("#;touch x\r"), origin: at(0).origin });
	const part = (text: string, position: number) =>
		ask<"act">(
			{ do: "act", act: { kind: "write", bytes: Buffer.from(text) }, options: at(position) },
			undefined,
			whole,
		);
	const first = part("#", 0);
	await held();
	await decide("grant");
	await first;
	await act(...resize(1));
	const second = part(";touch x\r", 1);
	expect(await held()).toMatchObject({ preview: "#touch x\n" });
	const refusal = expect(second).rejects.toMatchObject({ code: "not_approved" });
	await decide("deny");
	await refusal;
	expect(approvals.list(person)).toEqual([]);
	expect(await received()).toBe("#");
});

it("approved input is typed completely or not at all if the program does not read", async () => {
	const { session, type, decide } = await open({}, rawShell("printf ready; exec sleep 1000"));
	await outputUntil(session, /ready/);
	const fill = async (): Promise<number> => {
		const { next } = await session.receipt("agent");
		const bytes = Buffer.alloc(INPUT_WINDOW_BYTES, "x");
		const { accepted = 0 } = await session.act({ kind: "write", bytes }, at(next));
		return accepted === 0 ? next : fill();
	};
	const next = await fill();
	const typing = type("touch x\r", next);
	const refusal = expect(typing).rejects.toMatchObject({
		code: "limit_exceeded",
		message: "too much input is waiting for the program to read",
		hint: expect.stringMatching(/again once the program has read/),
	});
	await decide("grant");
	await refusal;
	expect(await session.receipt("agent")).toMatchObject({ next });
});

it.each([
	["without a stream", undefined],
	["on a stream", 0],
])("input %s with an unknown outcome makes its line unreadable until the line ends", async (_, position) => {
	const { type, held, decide, session } = await open();
	const broken = new SessionError("node_unavailable", "the link broke");
	const lost = async () => {
		await session.act({ kind: "write", bytes: Buffer.from("touch") }, position === undefined ? {} : at(position));
		throw broken;
	};
	await expect(type("touch", position, lost)).rejects.toBe(broken);
	const typing = type(" x\r");
	expect(await held()).toMatchObject({ reason: "unreadable" });
	await decide("grant");
	await typing;
	await type("ls\r");
});

it("input that was certainly refused leaves its line readable", async () => {
	const { type, session } = await open();
	const taken = () => session.acquire("ada", { exclusive: true, take: true });
	await expect(type("touch", 0, taken)).rejects.toMatchObject({ code: "not_writable" });
	await session.acquire("ada", { exclusive: false, take: true });
	expect(await type("xtouch x\r", 0)).toMatchObject({ accepted: 9 });
});

it("a long text sent in pieces is approved once for all of them", async () => {
	const { session, approvals, guard } = await open();

	const witness = new AuditedCaller(noAudit, { from: "local", front: "test" }, agent, () => guard);
	const bytes = Buffer.from(`${"x".repeat(INPUT_WINDOW_BYTES)}\rtouch x\r`);
	const offering = sendInParts(witness.session(session), { kind: "write", bytes }, { ...at(0), until: "accepted" });
	const asked = await eventually("something to approve", () => approvals.list(person)[0]);
	expect(asked.sha256).toBe(bytes.toString("hex"));
	expect(await session.receipt("agent")).toMatchObject({ next: 0 });
	const all: string[] = [];
	approvals.watch(({ state }) => all.push(state));
	await approvals.decide(person, asked.id, { decision: "grant", evenIfChanged: true });
	expect(await offering).toMatchObject({ next: bytes.byteLength });
	expect(all).toEqual(["granted"]);
	await outputUntil(session, /\rtouch x\r$/);
});
