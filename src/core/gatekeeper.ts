/**
 * What stands between callers who have a gate and sessions: of everything that such a caller does it is decided here
 * whether it is done at once or held until somebody has approved it. Whatever is held is outside the session's queue.
 */

import type { Bearer } from "./access.ts";
import type { Approval, Approvals, Asked } from "./approvals.ts";
import type { Deed } from "./audit.ts";
import type { Clock } from "./clock.ts";
import { SessionError } from "./errors.ts";
import type { Gate } from "./gate.ts";
import type {
	Act,
	ActOptions,
	Operation,
	Operations,
	Origin,
	Question,
	Receipt,
	Session,
	SessionInfo,
	SessionSpec,
	TypedWhole,
} from "./session.ts";
import { isEnded } from "./state.ts";
import { type Reading, TypedLine } from "./typed-line.ts";

/** How long what was begun before may take to show, until the place counts at which the output is. */
const SETTLE_MS = 1_000;
/** What is shown of an act, in UTF-16 units: its beginning and its end. */
const PREVIEW_BEGIN = 3_000;
const PREVIEW_END = 1_000;
/** Of what was approved for one caller, the last so many are remembered, for who tells it of them. */
const MOST_GRANTED = 16;

export type GatekeeperOptions = {
	readonly approvals: Approvals;
	/** Whether one of the expressions matches in a text; rejects when that takes too long. */
	readonly matches: (expressions: readonly string[], text: string) => Promise<boolean>;
	/** SHA-256, in hex. */
	readonly digest: (bytes: Uint8Array) => string;
	readonly clock: Clock;
	/** Whether a session was there before this process: what was typed into it by then is not known. */
	readonly isOlder: (session: Session) => boolean;
};

export class Gatekeeper {
	readonly #options: GatekeeperOptions;
	/** Of all callers with gates together, so that none can begin a line that another ends. */
	readonly #lines = new WeakMap<Session, TypedLine>();

	constructor(options: GatekeeperOptions) {
		this.#options = options;
	}

	/** For who has a gate; `gone` is aborted when it does not wait for an answer any more. */
	guard(bearer: Bearer, gate: Gate, gone: AbortSignal | undefined): Guard {
		return new Guard({ ...this.#options, bearer, gate, gone, lineOf: (session) => this.#lineOf(session) });
	}

	#lineOf(session: Session): TypedLine {
		const { mode } = session.spec;
		const line = this.#lines.get(session) ?? new TypedLine({ mode, isBegun: this.#options.isOlder(session) });
		this.#lines.set(session, line);
		return line;
	}
}

type GuardOptions = GatekeeperOptions & {
	readonly bearer: Bearer;
	readonly gate: Gate;
	readonly gone: AbortSignal | undefined;
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

/** A text that one caller types in parts: it is judged before the first of them, and approved for all of them at once. */
export class Whole {
	readonly #bytes: Uint8Array;
	readonly #origin: Origin;
	#approved: { readonly fence: number; readonly revision: number } | undefined;

	constructor({ bytes, origin }: TypedWhole) {
		this.#bytes = bytes;
		this.#origin = origin;
	}

	/** What its caller types behind this part of it. */
	after({ bytes, options: { origin } }: Typed): Uint8Array {
		if (origin?.stream !== this.#origin.stream) return new Uint8Array();
		return this.#bytes.subarray(origin.position + bytes.byteLength - this.#origin.position);
	}

	/** A part of it was typed with approval, under this lease; its line was as this revision of it says then. */
	goOn(fence: number, revision: number): void {
		this.#approved = { fence, revision };
	}

	/** Under which lease the next part may be typed: if the whole is approved, and nobody has typed anything in between. */
	fenceAt(revision: number): number | undefined {
		return this.#approved?.revision === revision ? this.#approved.fence : undefined;
	}
}

/** What one caller with a gate does goes through this. */
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
				if (isNew) await this.#approved(session, aboutSignal(demand), tell);
				return perform(question);
			}
			case "stop":
				await this.checkStop(session, tell);
				return perform(question);
		}
	}

	/** Before a program is started; `script` is what it is told to run besides its arguments. */
	async checkStart(spec: SessionSpec, script: string, tell: Tell): Promise<void> {
		const text = [spec.argv.join(" "), ...(script === "" ? [] : [script])].join("\n");
		const reason = await this.#match(text);
		if (reason) await this.#hold({ kind: "start", reason, text, bytes: encode(text), isTyped: false }, { spec }, tell);
	}

	/** Before a program is ended. */
	async checkStop(session: Session, tell: Tell): Promise<void> {
		if (this.#options.gate.stops && !isEnded(session.state)) await this.#approved(session, aboutStop("stop"), tell);
	}

	/** Before a session is deleted. */
	async checkDelete(session: Session, tell: Tell): Promise<void> {
		if (this.#options.gate.stops) await this.#approved(session, aboutStop("delete"), tell);
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
			const about: About = { ...what, isTyped: true, isBegun: !line.isEmpty };
			return async () => {
				const fence = await this.#approved(session, { ...about, fence: options.fence }, tell);
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
	 * has the screen to itself is used with such keys: there they are held if what is typed so far matches.
	 */
	async #judge(session: Session, reading: Reading): Promise<Approval["reason"] | undefined> {
		const { match, keys, signals } = this.#options.gate;
		const { texts, isReadable, hasUnknownKeys, isEnded: isGiven, hasSignal } = reading;
		if (signals && hasSignal) return "always";
		if (match.length === 0) return undefined;
		const isDue = keys === "all" || isGiven;
		if (!isDue && !hasUnknownKeys) return undefined;
		if (!isReadable && (isDue || !(await isFullScreen(session)))) return "unreadable";
		// What follows on the last Enter is judged once it has one, too.
		const isWhole = keys === "all" || !isGiven;
		return this.#match(texts.map((text) => (isWhole ? text : text.slice(0, text.lastIndexOf("\n")))).join("\n"));
	}

	async #match(text: string): Promise<"match" | "unreadable" | undefined> {
		const { matches, gate } = this.#options;
		try {
			return (await matches(gate.match, text)) ? "match" : undefined;
		} catch (error) {
			// What can't be judged is for somebody to look at.
			if (error instanceof SessionError) return "unreadable";
			throw error;
		}
	}

	/** Resolves with the fence under which it is to be done. */
	async #approved(session: Session, about: About & Leased, tell: Tell): Promise<number> {
		if (about.isTyped) await this.#settled(session);
		const info = await session.info();
		const { lease } = info;
		if (about.fence === undefined ? about.isTyped && lease.exclusive : about.fence !== lease.fence) {
			throw new SessionError("not_writable", `the session is controlled by ${JSON.stringify(lease.holder)}`, {
				hint: "take control to write",
			});
		}
		await this.#hold(about, { spec: session.spec, session, info }, tell);
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

	async #hold(about: About, target: Target, tell: Tell): Promise<void> {
		const { approvals, bearer, gate, gone, digest } = this.#options;
		const { spec, session, info } = target;
		const asked: Asked = {
			session: { id: spec.id, name: spec.name, workspace: spec.workspace },
			by: { id: bearer.id, name: bearer.name },
			account: bearer.account,
			kind: about.kind,
			reason: about.reason,
			preview: preview(about.text),
			sha256: digest(about.bytes),
			offset: info?.offsets.end ?? null,
			fence: info?.lease.fence ?? null,
			timeoutMs: gate.timeoutMs,
			target: session,
			check: async (evenIfChanged) =>
				session && info ? obstacle(session, info, about.isTyped && !evenIfChanged) : undefined,
		};
		const onAsked = ({ id, kind }: Approval) => tell({ action: "approval-asked", approval: id, what: kind });
		this.#held++;
		const approval = await approvals.hold(asked, gone, onAsked).finally(() => this.#held--);
		tell({ action: "approval-ended", approval: approval.id, state: approval.state });
		if (approval.state !== "granted") throw notApproved(approval, about);
		this.granted.push(approval);
		this.granted.splice(0, this.granted.length - MOST_GRANTED);
	}
}

type Target = { readonly spec: SessionSpec; readonly session?: Session; readonly info?: SessionInfo };

/** Something that is held. */
type About = {
	readonly kind: Approval["kind"];
	readonly reason: Approval["reason"];
	readonly text: string;
	readonly bytes: Uint8Array;
	/** Whether it is an answer to what the session shows. */
	readonly isTyped: boolean;
	/** Whether its line has something in it already. */
	readonly isBegun?: boolean;
};

/** Under which lease it is done. */
type Leased = { readonly fence?: number | undefined };

type Typed = {
	/** What it types, or is as good as typing. */
	readonly bytes: Uint8Array;
	readonly options: ActOptions;
	readonly isCommand: boolean;
};

type Demand =
	| { readonly kind: "free" }
	| { readonly kind: "refused"; readonly what: string }
	| ({ readonly kind: "typed" } & Typed)
	| { readonly kind: "signal"; readonly signal: string; readonly bytes: Uint8Array; readonly options: ActOptions }
	| { readonly kind: "stop" };

const free: Demand = { kind: "free" };

/** Total by type: a new operation does not compile until it is said what it is. */
function demandOf(question: Question, { mode }: SessionSpec): Demand {
	switch (question.do) {
		case "act":
		case "actIfWaiting": {
			const { act, options } = question;
			if (act.kind === "write") return { kind: "typed", bytes: act.bytes, options, isCommand: false };
			if (act.kind === "eof") return { kind: "typed", bytes: endOfInput(mode), options, isCommand: false };
			if (act.kind !== "signal") return free;
			// One unit of its stream, as every act that is not bytes.
			return { kind: "signal", signal: act.signal, bytes: new Uint8Array(1), options };
		}
		case "run": {
			const { command, options } = question;
			if (typeof command === "number") return free;
			return { kind: "typed", bytes: encode(`${command}\r`), options, isCommand: true };
		}
		case "kill":
			// Its time is over, which was asked for when it was started.
			return question.options.reason === "timeout" ? free : { kind: "stop" };
		case "secret":
			return { kind: "refused", what: "type secrets" };
		case "reply":
			return { kind: "refused", what: "answer for the terminal" };
		case "info":
		case "end":
		case "scan":
		case "replies":
		case "untilCursorAsked":
		case "untilMuchDrawn":
		case "setSizePolicy":
		case "receipt":
		case "forgetStream":
		case "acquire":
		case "release":
		case "leaseChange":
		case "controlSince":
		case "commands":
		case "pulse":
		case "commandNews":
		case "inspect":
		case "untilWaiting":
			return free;
	}
}

/** Signals that no program ends of unless it wants to; ^C, which is INT, is how one interrupts, and not how one stops. */
const HARMLESS_SIGNALS = new Set(["INT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "WINCH"]);

function endsPrograms(signal: string): boolean {
	return !HARMLESS_SIGNALS.has(signal.toUpperCase().replace(/^SIG/, ""));
}

/** What it is as good as typing: ^D; a program that reads from a pipe takes what it has of a line then. */
function endOfInput(mode: SessionSpec["mode"]): Uint8Array {
	return encode(mode === "pty" ? "\x04" : "\n");
}

function aboutSignal({ signal, options: { fence } }: Extract<Demand, { kind: "signal" }>): About & Leased {
	return { kind: "signal", reason: "always", text: signal, bytes: encode(signal), isTyped: false, fence };
}

function aboutStop(kind: "stop" | "delete"): About {
	return { kind, reason: "always", text: kind, bytes: encode(kind), isTyped: false };
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

/** Why what was approved is not done now: somebody else has control, or other things are asked by now. */
async function obstacle(session: Session, then: SessionInfo, isAnswer: boolean): Promise<string | undefined> {
	const now = await session.info();
	if (isEnded(session.state)) return "the session has ended";
	if (now.unreachable) return "whoever keeps the session does not answer";
	if (now.lease.fence !== then.lease.fence) return "control of the session has changed hands";
	const isChanged = isAnswer && now.offsets.end > then.offsets.end;
	return isChanged && !(await isFullScreen(session)) ? "there was more output since it was asked for" : undefined;
}

/** A program that has the screen to itself draws all the time, whatever it asks. */
async function isFullScreen(session: Session): Promise<boolean> {
	return session.spec.mode === "pty" && (await session.scan()).alternate.isOn;
}

function notApproved({ id, state, decidedBy, note }: Approval, { kind, isBegun }: About): SessionError {
	const why = note === undefined ? "" : `: ${note}`;
	const outcomes: Readonly<Record<Approval["state"], string>> = {
		asked: "is not decided",
		granted: "was granted",
		denied: `was denied by ${decidedBy ?? "somebody"}${why}`,
		expired: `has expired${why}`,
		withdrawn: `was withdrawn${why}`,
	};
	return new SessionError("not_approved", `approval ${id} of this ${kind} ${outcomes[state]}; nothing was done`, {
		...(isBegun
			? {
					hint: "what was typed of the line before is still there; C-u takes it away, and the next line is judged with it",
				}
			: {}),
	});
}

function lineHasChanged(): SessionError {
	return new SessionError("not_approved", "it was approved, but more was typed into its line since; nothing was done", {
		hint: "clear the line with C-u, and ask again",
	});
}

/** Fit to be shown anywhere: what is not text is told by its number. */
function preview(text: string): string {
	const safe = text.replaceAll("\r", "\n").replace(UNSAFE, (character) => {
		return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
	});
	const omitted = safe.length - PREVIEW_BEGIN - PREVIEW_END;
	if (omitted <= 0) return safe;
	return `${safe.slice(0, PREVIEW_BEGIN)}\n[… ${omitted} characters are left out here …]\n${safe.slice(-PREVIEW_END)}`;
}

/** Control characters but newline and tab, what changes the direction of text, and what is not seen at all. */
const UNSAFE =
	/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u115f\u1160\u2800\u3164\uffa0\ufffc\ufffd\p{Cf}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}]/gu;

function encode(text: string): Uint8Array {
	return new TextEncoder().encode(text);
}
