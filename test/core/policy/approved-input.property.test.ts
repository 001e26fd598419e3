/**
 * A model of several callers who type through a gate, each over streams that the others use as well. Requests and
 * decisions come in any order. A request may be in progress while others overtake it.
 */

import fc from "fast-check";
import { expect, it } from "vitest";
import { fullAccess } from "../../../src/access/fixed-access.ts";
import { spawn } from "../../../src/backends/spawn.ts";
import { systemClock } from "../../../src/backends/system-clock.ts";
import type { Clock } from "../../../src/core/async/clock.ts";
import { SessionError } from "../../../src/core/errors.ts";
import type { Action, ActOptions, Receipt } from "../../../src/core/input/action.ts";
import { unitsOf } from "../../../src/core/input/input-queue.ts";
import { Approvals } from "../../../src/core/policy/approvals.ts";
import type { Gate } from "../../../src/core/policy/gate.ts";
import { GateChecks } from "../../../src/core/policy/gates.ts";
import { LocalSession } from "../../../src/core/session/local-session.ts";
import type { OperationRequest } from "../../../src/core/session/operations.ts";
import { outputUntil } from "../../support/reading.ts";
import { rawShell } from "../../support/starts.ts";

const TIMEOUT_MS = 1_000_000;
const gate: Gate = { match: ["^touch"], keys: "enter", signals: true, stops: false, timeoutMs: TIMEOUT_MS };
const person = fullAccess("person");
const agents = ["one agent", "another agent"];
const callers = [...agents, "person"];
/** Refusals that actions of other callers may cause. Any other is a failure. */
const REFUSALS = new Set(["not_approved", "invalid_argument", "limit_exceeded"]);
const END = "<end>";

type Caller = { readonly name: string; readonly isGated: boolean };
/** The input that the session accepted, in order. */
type Accepted = Caller & { readonly act: Action; readonly units: number; readonly bytes: string };

const act = fc.oneof(
	{
		weight: 6,
		arbitrary: fc
			.constantFrom("touch x\r", "touch y\r", "touch z\r", "#touch x\r", "xtouch", "to", "uch\r", "\r", "#", "ls\r")
			.map(write),
	},
	{ weight: 4, arbitrary: fc.constant<Action>({ kind: "resize", size: { cols: 80, rows: 24 } }) },
	fc.constant<Action>({ kind: "signal", signal: "CONT" }),
	fc.constant<Action>({ kind: "eof" }),
);
const request = fc.record({
	kind: fc.constant("request" as const),
	caller: fc.constantFrom(...callers),
	act,
	stream: fc.constantFrom("a", "b", null),
	/** From the current end of the stream. A negative value is a repeat or an overlap. */
	back: fc.constantFrom(0, 0, 0, 1, 3, 9),
	/** How long it is in progress. */
	ticks: fc.nat(4),
});
const decision = fc.record({
	kind: fc.constantFrom(...(["grant", "grant", "grant", "grant", "deny", "expire"] as const)),
	which: fc.nat(7),
});
const step = fc.tuple(fc.oneof({ weight: 5, arbitrary: request }, { weight: 4, arbitrary: decision }), fc.nat(3));

function write(text: string): Action {
	return { kind: "write", bytes: Buffer.from(text) };
}

async function pass(ticks: number): Promise<void> {
	for (let tick = 0; tick < ticks; tick++) await new Promise((resolve) => setImmediate(resolve));
}

/** The gate's decision, computed another way: each line that gated callers have typed. */
class Lines {
	#line = "";
	#isUnreadable = false;

	/** Types it and returns whether the gate should have held it. */
	takes(bytes: string): boolean {
		const [rest = "", ...ended] = `${this.#line}${bytes}`.split("\r").reverse();
		const isEnded = bytes.includes("\r");
		// ^D on a line that is not empty is a key with an effect that only the program knows.
		const hasKey = bytes === "\x04" && plain(this.#line) !== "";
		const isHeld = hasKey || (isEnded && (this.#isUnreadable || ended.some((line) => /^touch/.test(plain(line)))));
		this.#isUnreadable = (this.#isUnreadable && !isEnded) || hasKey;
		this.#line = rest;
		return isHeld;
	}
}

/** On an empty line ^D ends the input. */
function plain(line: string): string {
	return line.replaceAll("\x04", "");
}

it("the program gets approved and ungated input, complete, once and in order, and nothing else", async () => {
	let approvedActs = 0;
	const model = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
		const timers = new Set<() => void>();
		const clock: Clock = {
			...systemClock,
			after(ms, callback) {
				if (ms !== TIMEOUT_MS) return systemClock.after(ms, callback);
				timers.add(callback);
				return () => timers.delete(callback);
			},
		};
		let last = 0;
		const approvals = new Approvals({ clock, newId: () => `approval-${++last}` });
		const granted = new Map<string, { readonly kind: string; readonly bytes: string }>();
		approvals.watch(({ id, state, kind, sha256 }) => {
			if (state === "granted") granted.set(id, { kind, bytes: Buffer.from(sha256, "hex").toString() });
		});
		const gatekeeper = new GateChecks({
			approvals,
			judge: async (_account, expressions, text) => {
				await pass(1);
				return expressions.some((one) => new RegExp(one, "m").test(text)) ? "match" : undefined;
			},
			digest: (bytes) => Buffer.from(bytes).toString("hex"),
			clock,
			isOlder: () => false,
		});
		const session = await LocalSession.start(rawShell("printf ready; exec cat"), { spawn, clock: systemClock });
		try {
			await outputUntil(session, /ready/);
			const accepted: Accepted[] = [];
			const ends = new Map<string, number>();
			const guards = agents.map((name) => {
				const guard = gatekeeper.guard(fullAccess(name), gate, { gone: undefined, onHold: () => {} });
				return [name, guard] as const;
			});
			const perform = async (by: Caller, question: OperationRequest<"act">, ticks: number): Promise<Receipt> => {
				await pass(ticks);
				const { act, options } = question;
				const receipt = await session.ask<"act">(question);
				const { accepted: units = 0, next } = receipt;
				if (units === 0) return receipt;
				const { stream, position } = options.origin ?? { stream: null, position: 0 };
				if (stream !== null) {
					expect(next - units).toBe(ends.get(stream) ?? 0);
					ends.set(stream, next);
				}
				const bytes =
					act.kind === "write" ? Buffer.from(act.bytes.subarray(next - position - units, next - position)) : "";
				accepted.push({ ...by, act, units, bytes: act.kind === "eof" ? "\x04" : bytes.toString() });
				return receipt;
			};
			const requests: Promise<void>[] = [];
			for (const [one, ticks] of steps) {
				if (one.kind === "request") {
					const { caller, act, stream, back } = one;
					const next = stream === null ? 0 : (await session.receipt(stream)).next;
					const options: ActOptions = stream === null ? {} : { origin: { stream, position: Math.max(0, next - back) } };
					const question = { do: "act", act, options } as const;
					const [, guard] = guards.find(([name]) => name === caller) ?? [];
					const by = { name: caller, isGated: guard !== undefined };
					const performed = (allowed: OperationRequest<"act">) => perform(by, allowed, one.ticks);
					const asked = guard
						? guard.pass<"act">(session, question, { perform: performed, record: () => {}, whole: undefined })
						: performed(question);
					requests.push(
						asked.then(
							() => {},
							(error: unknown) => expect(REFUSALS).toContain(SessionError.from(error).code),
						),
					);
					await pass(ticks);
					continue;
				}
				// Everything in progress is finally done or held.
				const isHeld = new Promise<void>((resolve) => approvals.watch(() => resolve()));
				if (approvals.list(person).length === 0) await Promise.race([isHeld, Promise.all(requests)]);
				if (one.kind === "expire") {
					[...timers][one.which % Math.max(1, timers.size)]?.();
				} else {
					const held = approvals.list(person);
					const { id } = held[one.which % Math.max(1, held.length)] ?? {};
					const decision = one.kind;
					if (id !== undefined) await approvals.decide(person, id, { decision, evenIfChanged: true }).catch(() => {});
				}
				await pass(ticks);
			}
			const deny = (id: string) => void approvals.decide(person, id, { decision: "deny" }).catch(() => {});
			approvals.watch(({ id, state }) => state === "asked" && deny(id));
			for (const { id } of approvals.list(person)) deny(id);
			await Promise.all(requests);
			await session.act({ kind: "write", bytes: Buffer.from(END) });
			const received = (await outputUntil(session, /<end>$/)).replace(/^ready|<end>$/g, "");
			expect(received).toBe(accepted.map(({ bytes }) => bytes).join(""));

			const lines = new Lines();
			for (const { act, bytes } of accepted.filter(({ isGated }) => isGated)) {
				if (act.kind === "resize") continue;
				const isHeld = act.kind === "signal" || lines.takes(bytes);
				const text = act.kind === "signal" ? act.signal : bytes;
				const kind = act.kind === "signal" ? "signal" : "input";
				const approval = [...granted].find(([, one]) => one.kind === kind && one.bytes === text);
				if (isHeld) expect(approval, `${JSON.stringify(text)} was held, and is the whole of a grant`).toBeDefined();
				if (!isHeld || !approval) continue;
				granted.delete(approval[0]);
				approvedActs++;
				expect(unitsOf(act)).toBeGreaterThan(0);
			}
		} finally {
			approvals.close();
			await session.kill();
		}
	});
	await fc.assert(model, { numRuns: 150 });
	// Usually 40 to 70. With fewer, the model would not cover approved input.
	expect(approvedActs).toBeGreaterThan(10);
}, 120_000);
