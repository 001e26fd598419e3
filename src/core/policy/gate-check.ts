/**
 * The gate of one caller. It decides for each action whether it is performed at once or held for approval. Held actions
 * are not in the session's queue.
 */

import type { Code } from "../../words/error-code.ts";
import type { Clock } from "../async/clock.ts";
import { SessionError } from "../errors.ts";
import type { Action, ActOptions, Receipt } from "../input/action.ts";
import { INPUT_WINDOW_BYTES, streamMoved } from "../input/input-queue.ts";
import { isEnded } from "../log/session-state.ts";
import type { Operation, OperationRequest, Operations } from "../session/operations.ts";
import type { Session } from "../session/session.ts";
import type { SessionInfo } from "../session/session-info.ts";
import type { CallerIdentity } from "./access.ts";
import type { Approval, ApprovalRequest, Approvals } from "./approvals.ts";
import type { AuditedAction } from "./audit.ts";
import type { Gate, GateMatch, GateMatcher } from "./gate.ts";
import {
	type HeldAction,
	isFullScreen,
	lineChangedError,
	notApprovedError,
	preview,
	reasonNotToRun,
	streamHasMoved,
	untypedAction,
} from "./held-action.ts";
import { type PlannedStart, textsOf } from "./planned-start.ts";
import { isEndingSignal, requiredApproval, type Signal, type Typed } from "./required-approval.ts";
import type { SplitInput } from "./split-input.ts";
import type { LineReading, TypedLine } from "./typed-line.ts";

/** How long earlier input may take to show its effect, before the end of the output is noted for an approval. */
const SETTLE_MS = 1_000;
/** Latest approvals kept for the caller's response. */
const MOST_GRANTED = 16;
/** Errors after which it is unknown whether an action was performed. */
const UNKNOWN_OUTCOMES: ReadonlySet<Code> = new Set(["node_unavailable", "internal"]);

export type GuardOptions = {
	readonly approvals: Approvals;
	readonly judge: GateMatcher;
	/** SHA-256 in hex. */
	readonly digest: (bytes: Uint8Array) => string;
	readonly clock: Clock;
	readonly bearer: CallerIdentity;
	readonly gate: Gate;
	/** Aborted when the caller no longer waits for a response. */
	readonly gone: AbortSignal | undefined;
	/** Called before an action is held, which may take long. Throws if the caller has no room for it. */
	readonly onHold: () => void;
	/** The line that callers with gates have typed into a session. */
	readonly lineOf: (session: Session) => TypedLine;
};

/** Records an action in the audit log. */
type Record = (action: AuditedAction) => void;
type Perform<Name extends Operation> = (request: OperationRequest<Name>) => Promise<Operations[Name]["answer"]>;

/** How a part may be typed: under which lease, if it was approved, and whether the approval covers the whole text. */
type Permission = { readonly isWhole: boolean; readonly fence?: number | undefined; readonly isForWhole?: boolean };

type Judged = Pick<Typed, "bytes" | "options" | "isCommand">;

type Passing<Name extends Operation> = {
	readonly perform: Perform<Name>;
	readonly record: Record;
	/** The text that it is a part of. */
	readonly whole: SplitInput | undefined;
};

/** The lease of an action. */
type Leased = { readonly fence?: number | undefined };

type Target = {
	readonly place: PlannedStart["place"];
	readonly session?: Session;
	readonly info?: SessionInfo;
};

export class GateCheck {
	readonly #options: GuardOptions;
	/** Latest approvals granted to this caller. */
	readonly granted: Approval[] = [];
	#held = 0;

	constructor(options: GuardOptions) {
		this.#options = options;
	}

	/** Whether an action waits for approval now. */
	get isHeld(): boolean {
		return this.#held > 0;
	}

	/** Performs an operation on a session once the gate allows it. */
	async pass<Name extends Operation>(
		session: Session,
		request: OperationRequest<Name>,
		{ perform, record, whole }: Passing<Name>,
	): Promise<Operations[Name]["answer"]> {
		const asked = copied(request);
		const required = requiredApproval(asked as OperationRequest, session.spec);
		switch (required.kind) {
			case "free":
				return perform(request);
			case "ordered":
				return this.#options.lineOf(session).inOrder.run(() => perform(asked));
			case "refused":
				throw new SessionError("permission_denied", `a token with a gate may not ${required.what}`, {
					hint: "it could not be shown for approval; a user has to do it",
				});
			case "typed":
				return this.#type(session, asked, { ...required, perform, record, whole });
			case "signal":
				return this.#signal(session, asked, { ...required, perform, record, whole });
			case "stop":
				await this.checkStop(session, record);
				return perform(request);
		}
	}

	/** Checks a start. */
	async checkStart(start: PlannedStart, record: Record): Promise<void> {
		const { judged, shown, whole } = textsOf(start);
		const reason = await this.#match(judged);
		if (reason) await this.#hold({ ...untypedAction("start", shown, reason), bytes: whole }, start, record);
	}

	/**
	 * Checks something that is stored for later starts of any caller. Those starts do not pass this gate, so variables
	 * that are code are held even if no expression matches.
	 */
	async checkStore(start: PlannedStart, record: Record): Promise<void> {
		const { judged, shown, whole, hasCode } = textsOf(start);
		if (shown === "") return;
		const reason = (await this.#match(judged)) ?? (hasCode ? "always" : undefined);
		if (reason) await this.#hold({ ...untypedAction("store", shown, reason), bytes: whole }, start, record);
	}

	/** Checks the end of a program. */
	async checkStop(session: Session, record: Record): Promise<void> {
		if (!this.#options.gate.stops || isEnded(session.state)) return;
		await this.#approved(session, untypedAction("stop", "stop", "always"), record);
	}

	/** Checks the deletion of a session. */
	async checkDelete(session: Session, record: Record): Promise<void> {
		if (this.#options.gate.stops) await this.#approved(session, untypedAction("delete", "delete", "always"), record);
	}

	/** Sends a signal. Only a held one is checked against the position of its stream. */
	async #signal<Name extends Operation>(
		session: Session,
		request: OperationRequest<Name>,
		{ signal, bytes, options, perform, record }: Signal & Passing<Name>,
	): Promise<Operations[Name]["answer"]> {
		const { gate, lineOf } = this.#options;
		const line = lineOf(session);
		if (!gate.signals && !(gate.stops && isEndingSignal(signal))) return line.inOrder.run(() => perform(request));
		const done = await line.inOrder.run(async () => {
			const part = await newPart(session, { bytes, options, isCommand: false });
			const send = (isWhole: boolean) => performExactly(perform, exactly(request, part, { isWhole }));
			if (part.bytes.byteLength === 0) {
				const answer = await send(false);
				return async () => answer;
			}
			return async () => {
				await this.#approved(session, { ...untypedAction("signal", signal, "always"), fence: options.fence }, record);
				return line.inOrder.run(async () => {
					await checkUnmoved(session, part, options);
					return send(true);
				});
			};
		});
		return done();
	}

	/**
	 * Judges input and types it before any other action of callers with gates. A command may take long: its turn ends
	 * once it is judged, and it does not change the line, because the shell may turn out to be busy.
	 */
	async #type<Name extends Operation>(
		session: Session,
		request: OperationRequest<Name>,
		typing: Typed & Passing<Name>,
	): Promise<Operations[Name]["answer"]> {
		const { perform, record, whole, isCommand, options } = typing;
		const line = this.#options.lineOf(session);
		const type = async (part: NewPart, how: Permission) => {
			const allowed = exactly(request, part, how);
			if (isCommand) return () => performExactly(perform, allowed);
			const answer = await typed(session, line, part, options, () => performExactly(perform, allowed));
			if (how.isForWhole)
				whole?.continueFrom({ fence: how.fence, revision: line.revision, next: part.from + answer.taken });
			return async () => answer.answer;
		};
		const done = await line.inOrder.run(async () => {
			const part = await newPart(session, typing);
			if (part.bytes.byteLength === 0) return type(part, { isWhole: false });
			const passed = whole?.passedAt(line.revision, part.from);
			if (passed) return type(part, { isWhole: false, fence: passed.fence, isForWhole: true });
			const all = Buffer.concat([part.bytes, whole?.after(part, typing) ?? new Uint8Array()]);
			const reading = isCommand ? line.withCommand(all) : line.with(all);
			const reason = await this.#judge(session, reading);
			if (reason === undefined) return type(part, { isWhole: false, isForWhole: reading.isReadable });
			const what = { kind: isCommand ? "run" : "input", reason, text: reading.typed, bytes: all } as const;
			const action: HeldAction = { ...what, isTyped: true, isBegun: !line.isEmpty };
			const { content } = line;
			return async () => {
				const fence = await this.#approved(session, { ...action, fence: options.fence }, record);
				const done = await line.inOrder.run(async () => {
					// Other input would not be what was approved.
					if (line.content !== content) throw lineChangedError();
					await checkUnmoved(session, part, options);
					return type(part, { isWhole: whole === undefined, fence, isForWhole: true });
				});
				return done();
			};
		});
		return done();
	}

	/**
	 * A key with an unknown effect may run something at once, so it is held immediately. But full-screen programs are
	 * used with such keys: there they are held only if the text typed so far matches. A pipe passes on writes at once,
	 * and its end, even by the death of the keeper, ends the line.
	 */
	async #judge(session: Session, reading: LineReading): Promise<Approval["reason"] | undefined> {
		const { match, keys, signals } = this.#options.gate;
		const { texts, isReadable, hasUnknownKeys, isEnded: isLineEnded, hasSignal } = reading;
		if (signals && hasSignal) return "always";
		if (match.length === 0) return undefined;
		const isEach = keys === "all" || session.spec.mode === "pipe";
		const isDue = isEach || isLineEnded;
		if (!isDue && !hasUnknownKeys) return undefined;
		if (!isReadable && (isDue || !(await isFullScreen(session)))) return "unreadable";
		// The text after the last Enter is judged once it has one, too.
		const isWhole = isEach || !isLineEnded;
		return this.#match(texts.map((text) => (isWhole ? text : text.slice(0, text.lastIndexOf("\n")))).join("\n"));
	}

	#match(text: string): Promise<GateMatch> {
		const { judge, bearer, gate } = this.#options;
		return judge(bearer.account, gate.match, text);
	}

	/** Holds an action for approval. Resolves with the fence under which it must be performed. */
	async #approved(session: Session, action: HeldAction & Leased, record: Record): Promise<number> {
		if (action.isTyped) await this.#settled(session);
		const info = await session.info();
		const { lease } = info;
		if (action.fence === undefined ? action.isTyped && lease.exclusive : action.fence !== lease.fence) {
			throw new SessionError("not_writable", `the session is controlled by ${JSON.stringify(lease.holder)}`, {
				hint: "take control to write",
			});
		}
		await this.#hold(action, { place: session.spec, session, info }, record);
		return lease.fence;
	}

	/**
	 * Waits for a shell on its way to its prompt, and for the echo of earlier input, which would look like a new prompt.
	 */
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
			// A keeper that can't be reached: wait for the whole time.
			() => late,
		);
		await Promise.race([waiting, late]);
		over.abort();
	}

	async #hold(action: HeldAction, target: Target, record: Record): Promise<void> {
		const { approvals, bearer, gate, gone, onHold, digest } = this.#options;
		const { place, session, info } = target;
		onHold();
		const request: ApprovalRequest = {
			session: { id: place.id, name: place.name, workspace: place.workspace },
			by: { id: bearer.id, name: bearer.name },
			account: bearer.account,
			kind: action.kind,
			reason: action.reason,
			preview: preview(action.text),
			sha256: digest(action.bytes),
			offset: info?.offsets.end ?? null,
			fence: info?.lease.fence ?? null,
			timeoutMs: gate.timeoutMs,
			// An ended session can still be deleted.
			target: action.kind === "delete" ? undefined : session,
			check: async (evenIfChanged) =>
				session && info
					? reasonNotToRun(session, info, { kind: action.kind, isAnswer: action.isTyped && !evenIfChanged })
					: undefined,
		};
		const onAsked = ({ id, kind }: Approval) => record({ action: "approval-asked", approval: id, what: kind });
		this.#held++;
		const approval = await approvals.hold(request, gone, onAsked).finally(() => this.#held--);
		record({ action: "approval-ended", approval: approval.id, state: approval.state });
		if (approval.state !== "granted") throw notApprovedError(approval, action);
		this.granted.push(approval);
		this.granted.splice(0, this.granted.length - MOST_GRANTED);
	}
}

/** Copies the bytes, so that the caller can't change them after they were judged. */
function copied<Name extends Operation>(request: OperationRequest<Name>): OperationRequest<Name> {
	const { act } = request as { readonly act?: Action };
	return act?.kind === "write" ? { ...request, act: { ...act, bytes: new Uint8Array(act.bytes) } } : request;
}

/** The units of an action that its stream lacks, and their position there. */
type NewPart = { readonly from: number; readonly bytes: Uint8Array };

/** The new part of an action, at most one window. A repeat has none, so it needs no second approval. */
async function newPart(session: Session, { bytes, options: { origin }, isCommand }: Judged): Promise<NewPart> {
	if (!origin) return { from: 0, bytes: isCommand ? bytes : bytes.subarray(0, INPUT_WINDOW_BYTES) };
	const { next } = await session.receipt(origin.stream);
	const from = Math.max(next, origin.position);
	if (isCommand) return { from, bytes: from > origin.position ? new Uint8Array() : bytes };
	return { from, bytes: bytes.subarray(from - origin.position).subarray(0, INPUT_WINDOW_BYTES) };
}

/** Refuses an approved part whose stream positions were used by other input meanwhile. */
async function checkUnmoved(session: Session, { from }: NewPart, { origin }: ActOptions): Promise<void> {
	if (!origin) return;
	const { next } = await session.receipt(origin.stream);
	if (next > from) throw streamHasMoved(streamMoved(origin, next, from));
}

/** The same request for this part alone, and under this lease if it was approved. */
function exactly<Name extends Operation>(
	request: OperationRequest<Name>,
	{ from, bytes }: NewPart,
	{ isWhole, fence }: Permission,
): OperationRequest<Name> {
	const { act, options = {} } = request as { readonly act?: Action; readonly options?: ActOptions };
	const allowed = { ...options, exact: { from, isWhole }, ...(fence === undefined ? {} : { fence }) };
	if (act?.kind !== "write") return { ...request, options: allowed };
	const end = from - (options.origin?.position ?? 0) + bytes.byteLength;
	return { ...request, act: { ...act, bytes: act.bytes.subarray(0, end) }, options: allowed };
}

async function performExactly<Name extends Operation>(
	perform: Perform<Name>,
	request: OperationRequest<Name>,
): Promise<Operations[Name]["answer"]> {
	try {
		return await perform(request);
	} catch (error) {
		if (error instanceof SessionError && error.code === "conflict") throw streamHasMoved(error);
		throw error;
	}
}

/** Types a part and updates the line, whatever the outcome. */
async function typed<Answer>(
	session: Session,
	line: TypedLine,
	{ from, bytes }: NewPart,
	{ origin }: ActOptions,
	type: () => Promise<Answer>,
): Promise<{ readonly answer: Answer; readonly taken: number }> {
	try {
		const answer = await type();
		const { accepted, next } = answer as Receipt;
		const taken = Math.min(accepted ?? Math.max(0, next - from), bytes.byteLength);
		line.take(bytes.subarray(0, taken));
		return { answer, taken };
	} catch (error) {
		// The keeper may have typed it before its link broke. A stream moved by others looks the same.
		const isMoved = origin
			? await session.receipt(origin.stream).then(
					({ next }) => next > from,
					() => true,
				)
			: UNKNOWN_OUTCOMES.has(SessionError.from(error).code);
		if (isMoved) line.lose();
		throw error;
	}
}
