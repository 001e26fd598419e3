/**
 * What one caller with a gate does goes through this: of everything it is decided here whether it is done at once or held
 * until somebody has approved it. Whatever is held is outside the session's queue.
 */

import type { Bearer } from "./access.ts";
import type { Act, ActOptions, Receipt } from "./act.ts";
import type { Approval, Approvals, Asked } from "./approvals.ts";
import type { Deed } from "./audit.ts";
import type { Clock } from "./clock.ts";
import { demandOf, endsPrograms, type Typed } from "./demand.ts";
import { SessionError } from "./errors.ts";
import type { Gate, Judge, Judgement } from "./gate.ts";
import { type HeldAct, isFullScreen, lineHasChanged, notApproved, obstacle, plainAct, preview } from "./held-act.ts";
import { type PlannedStart, textsOf } from "./planned-start.ts";
import type { Operation, Operations, Question, Session, SessionInfo, SessionSpec } from "./session.ts";
import { isEnded } from "./state.ts";
import type { Reading, TypedLine } from "./typed-line.ts";
import type { Whole } from "./typed-whole.ts";

/** How long what was begun before may take to show, until the place counts at which the output is. */
const SETTLE_MS = 1_000;
/** Of what was approved for one caller, the last so many are remembered, for who tells it of them. */
const MOST_GRANTED = 16;

export type GuardOptions = {
	readonly approvals: Approvals;
	readonly judge: Judge;
	/** SHA-256, in hex. */
	readonly digest: (bytes: Uint8Array) => string;
	readonly clock: Clock;
	readonly bearer: Bearer;
	readonly gate: Gate;
	/** Aborted when the caller does not wait for an answer any more. */
	readonly gone: AbortSignal | undefined;
	/** Before something is held, which may take long; throws if the caller has no room for it. */
	readonly onHold: () => void;
	/** What callers with gates have typed into a session. */
	readonly lineOf: (session: Session) => TypedLine;
};

/** Tells the audit. */
type Tell = (deed: Deed) => void;

type Perform<Name extends Operation> = (question: Question<Name>) => Promise<Operations[Name]["answer"]>;

type Passing<Name extends Operation> = {
	readonly perform: Perform<Name>;
	readonly tell: Tell;
	/** What it is a part of. */
	readonly whole: Whole | undefined;
};

/** Under which lease it is done. */
type Leased = { readonly fence?: number | undefined };

type Target = { readonly spec: SessionSpec; readonly session?: Session; readonly info?: SessionInfo };

export class Guard {
	readonly #options: GuardOptions;
	/** What somebody has approved of it so far: the newest. */
	readonly granted: Approval[] = [];
	#held = 0;

	constructor(options: GuardOptions) {
		this.#options = options;
	}

	/** Whether something waits to be approved now. */
	get isHeld(): boolean {
		return this.#held > 0;
	}

	/** Has a question to a session answered, once it may be. */
	async pass<Name extends Operation>(
		session: Session,
		question: Question<Name>,
		{ perform, tell, whole }: Passing<Name>,
	): Promise<Operations[Name]["answer"]> {
		const asked = copied(question);
		const demand = demandOf(asked as Question, session.spec);
		const { gate } = this.#options;
		switch (demand.kind) {
			case "free":
				return perform(question);
			case "refused":
				throw new SessionError("permission_denied", `a token with a gate may not ${demand.what}`, {
					hint: "what nobody may see can't be approved by anybody; a person types it",
				});
			case "typed":
				return this.#type(session, asked, { ...demand, perform, tell, whole });
			case "signal": {
				const isHeld = gate.signals || (gate.stops && endsPrograms(demand.signal));
				const isNew = isHeld && (await unseen(session, { ...demand, isCommand: false })).byteLength > 0;
				const { signal, options } = demand;
				const act = { ...plainAct("signal", signal, "always"), fence: options.fence };
				if (isNew) await this.#approved(session, act, tell);
				return perform(question);
			}
			case "stop":
				await this.checkStop(session, tell);
				return perform(question);
		}
	}

	/** Before a program is started. */
	async checkStart(start: PlannedStart, tell: Tell): Promise<void> {
		const { judged, shown, whole } = textsOf(start);
		const reason = await this.#match(judged);
		if (reason) await this.#hold({ ...plainAct("start", shown, reason), bytes: whole }, start, tell);
	}

	/** Before a program is ended. */
	async checkStop(session: Session, tell: Tell): Promise<void> {
		if (!this.#options.gate.stops || isEnded(session.state)) return;
		await this.#approved(session, plainAct("stop", "stop", "always"), tell);
	}

	/** Before a session is deleted. */
	async checkDelete(session: Session, tell: Tell): Promise<void> {
		if (this.#options.gate.stops) await this.#approved(session, plainAct("delete", "delete", "always"), tell);
	}

	/**
	 * What is typed is judged, and then typed, before anything else of such callers is. A command may take long: it has
	 * had its turn once it is judged, and leaves the line as it is, for the shell may turn out to be busy with that.
	 */
	async #type<Name extends Operation>(
		session: Session,
		question: Question<Name>,
		typing: Typed & Passing<Name>,
	): Promise<Operations[Name]["answer"]> {
		const { perform, tell, whole, isCommand, options } = typing;
		const line = this.#options.lineOf(session);
		const read = (bytes: Uint8Array) => (isCommand ? line.withCommand(bytes) : line.with(bytes));
		const type = async (allowed: Question<Name>, bytes: Uint8Array, approvedUnder?: number) => {
			if (isCommand) return () => perform(allowed);
			const answer = await perform(allowed);
			line.take(bytes.subarray(0, acceptedOf(answer as Receipt, options)));
			if (approvedUnder !== undefined) whole?.goOn(approvedUnder, line.revision);
			return async () => answer;
		};
		const done = await line.inTurn(async () => {
			const bytes = await unseen(session, typing);
			if (bytes.byteLength === 0) return () => perform(question);
			const approvedUnder = whole?.fenceAt(line.revision);
			if (approvedUnder !== undefined) return type(under(approvedUnder, question), bytes, approvedUnder);
			const all = Buffer.concat([bytes, whole?.after(typing) ?? new Uint8Array()]);
			const reading = read(all);
			const reason = await this.#judge(session, reading);
			if (reason === undefined) return type(question, bytes);
			const what = { kind: isCommand ? "run" : "input", reason, text: reading.typed, bytes: all } as const;
			const act: HeldAct = { ...what, isTyped: true, isBegun: !line.isEmpty };
			return async () => {
				const fence = await this.#approved(session, { ...act, fence: options.fence }, tell);
				const typed = await line.inTurn(async () => {
					// Others, or this caller itself, may have typed more: that was not what was approved.
					if (read(all).typed !== reading.typed) throw lineHasChanged();
					return type(under(fence, question), bytes, fence);
				});
				return typed();
			};
		});
		return done();
	}

	/**
	 * A key that only the program knows may run something by itself, so that it is held when it comes. But a program that
	 * has the screen to itself is used with such keys: there they are held if what is typed so far matches. A pipe gives
	 * a program what is written at once, and whatever ends the pipe, the death of its keeper too, ends its line.
	 */
	async #judge(session: Session, reading: Reading): Promise<Approval["reason"] | undefined> {
		const { match, keys, signals } = this.#options.gate;
		const { texts, isReadable, hasUnknownKeys, isEnded: isGiven, hasSignal } = reading;
		if (signals && hasSignal) return "always";
		if (match.length === 0) return undefined;
		const isEach = keys === "all" || session.spec.mode === "pipe";
		const isDue = isEach || isGiven;
		if (!isDue && !hasUnknownKeys) return undefined;
		if (!isReadable && (isDue || !(await isFullScreen(session)))) return "unreadable";
		// What follows on the last Enter is judged once it has one, too.
		const isWhole = isEach || !isGiven;
		return this.#match(texts.map((text) => (isWhole ? text : text.slice(0, text.lastIndexOf("\n")))).join("\n"));
	}

	#match(text: string): Promise<Judgement> {
		const { judge, bearer, gate } = this.#options;
		return judge(bearer.account, gate.match, text);
	}

	/** Resolves with the fence under which it is to be done. */
	async #approved(session: Session, act: HeldAct & Leased, tell: Tell): Promise<number> {
		if (act.isTyped) await this.#settled(session);
		const info = await session.info();
		const { lease } = info;
		if (act.fence === undefined ? act.isTyped && lease.exclusive : act.fence !== lease.fence) {
			throw new SessionError("not_writable", `the session is controlled by ${JSON.stringify(lease.holder)}`, {
				hint: "take control to write",
			});
		}
		await this.#hold(act, { spec: session.spec, session, info }, tell);
		return lease.fence;
	}

	/** A shell that is on its way to its prompt, and the echo of what was typed before, are no sign of another prompt. */
	async #settled(session: Session): Promise<void> {
		const { clock, gone } = this.#options;
		const over = new AbortController();
		const late = new Promise<void>((resolve) => {
			const cancel = clock.after(SETTLE_MS, resolve);
			over.signal.addEventListener("abort", cancel, { once: true });
			gone?.addEventListener("abort", () => resolve(), { once: true, signal: over.signal });
		});
		const waiting = session.untilWaiting(0, over.signal).then(
			() => {},
			// A keeper of an older version can't tell.
			() => late,
		);
		await Promise.race([waiting, late]);
		over.abort();
	}

	async #hold(act: HeldAct, target: Target, tell: Tell): Promise<void> {
		const { approvals, bearer, gate, gone, onHold, digest } = this.#options;
		const { spec, session, info } = target;
		onHold();
		const asked: Asked = {
			session: { id: spec.id, name: spec.name, workspace: spec.workspace },
			by: { id: bearer.id, name: bearer.name },
			account: bearer.account,
			kind: act.kind,
			reason: act.reason,
			preview: preview(act.text),
			sha256: digest(act.bytes),
			offset: info?.offsets.end ?? null,
			fence: info?.lease.fence ?? null,
			timeoutMs: gate.timeoutMs,
			target: session,
			check: async (evenIfChanged) =>
				session && info ? obstacle(session, info, act.isTyped && !evenIfChanged) : undefined,
		};
		const onAsked = ({ id, kind }: Approval) => tell({ action: "approval-asked", approval: id, what: kind });
		this.#held++;
		const approval = await approvals.hold(asked, gone, onAsked).finally(() => this.#held--);
		tell({ action: "approval-ended", approval: approval.id, state: approval.state });
		if (approval.state !== "granted") throw notApproved(approval, act);
		this.granted.push(approval);
		this.granted.splice(0, this.granted.length - MOST_GRANTED);
	}
}

/** What is done is what was judged, whatever becomes of the caller's memory meanwhile. */
function copied<Name extends Operation>(question: Question<Name>): Question<Name> {
	const { act } = question as { readonly act?: Act };
	return act?.kind === "write" ? { ...question, act: { ...act, bytes: new Uint8Array(act.bytes) } } : question;
}

/** What of it is not known to the session's ledger: a repeat of what was approved once is not asked for again. */
async function unseen(session: Session, { bytes, options: { origin }, isCommand }: Typed): Promise<Uint8Array> {
	if (!origin) return bytes;
	const { next } = await session.receipt(origin.stream);
	if (next <= origin.position) return bytes;
	return isCommand ? new Uint8Array() : bytes.subarray(next - origin.position);
}

/** How many of its units were new and taken. */
function acceptedOf({ next, accepted }: Receipt, { origin }: ActOptions): number {
	return accepted ?? Math.max(0, next - (origin?.position ?? 0));
}

/** The same question, good under this lease alone. */
function under<Name extends Operation>(fence: number, question: Question<Name>): Question<Name> {
	const { options = {} } = question as { readonly options?: ActOptions };
	return { ...question, options: { ...options, fence } };
}
