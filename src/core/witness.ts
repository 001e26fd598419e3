/** One caller's way to sessions: what it does there is told to the audit, and held if its gate says so. */

import type { Bearer } from "./access.ts";
import type { Receipt, TypedWhole } from "./act.ts";
import type { Approval } from "./approvals.ts";
import type { Actor, Audit, Deed } from "./audit.ts";
import { SessionError } from "./errors.ts";
import type { Item, Start } from "./event.ts";
import type { Guard } from "./guard.ts";
import { unitsOf } from "./input.ts";
import type { RequestedStart } from "./planned-start.ts";
import {
	type FollowOptions,
	type Operation,
	type Operations,
	type OwnReplies,
	type Question,
	type Replier,
	Session,
	type SessionInfo,
	type SessionSpec,
} from "./session.ts";
import type { Sessions, TimedFact } from "./sessions.ts";
import type { State } from "./state.ts";
import { Whole } from "./typed-whole.ts";

/** What is refused to who may not write, or may not do this. */
const acting: ReadonlySet<Operation> = new Set<Operation>(["act", "actIfWaiting", "secret", "run", "acquire", "kill"]);

/** Who sees to it that a caller does alone only what it may; null for who may do all of it. `isLasting`: it may come back for an answer. */
type GuardOf = (bearer: Bearer, isLasting: boolean) => Guard | null;

export class Witness {
	readonly #audit: Audit;
	readonly #by: Actor;
	readonly #bearer: Bearer | null;
	readonly #guardOf: GuardOf;
	readonly #guard: Guard | null;
	/** Whether a refusal was recorded, so that the error which follows from it is not one more. */
	hasRefused = false;

	/** `bearer` is null while it is not known who is there. */
	constructor(audit: Audit, by: Pick<Actor, "from" | "front">, bearer: Bearer | null, guardOf: GuardOf) {
		this.#audit = audit;
		this.#by = { ...by, id: bearer?.id ?? null, name: bearer?.name ?? null };
		this.#bearer = bearer;
		this.#guardOf = guardOf;
		this.#guard = bearer && guardOf(bearer, false);
	}

	/** What somebody has approved of all that was done through it. */
	get granted(): readonly Approval[] {
		return this.#guard?.granted ?? [];
	}

	/** Whether something that is done through it waits to be approved. */
	get isHeld(): boolean {
		return this.#guard?.isHeld === true;
	}

	record(deed: Deed, place: { readonly workspace?: string; readonly session?: string } = {}): void {
		if (deed.action === "refused") this.hasRefused = true;
		this.#audit.record({ ...deed, ...place, by: this.#by });
	}

	/** Somebody else at the same place: who they are was not known before. */
	as(bearer: Bearer): Witness {
		return new Witness(this.#audit, this.#by, bearer, this.#guardOf);
	}

	/** The same caller, who may come back over another connection: what is held for it is not withdrawn with this one. */
	lasting(): Witness {
		return new Witness(this.#audit, this.#by, this.#bearer, (bearer) => this.#guardOf(bearer, true));
	}

	/**
	 * Starts a program. That it is asked for is recorded before anything can come of it. `script` is what it is told to
	 * run, where its arguments do not say that.
	 */
	async create(sessions: Sessions, { chosen, ...start }: RequestedStart, script = ""): Promise<Session> {
		const { spec, command } = start;
		const place = { workspace: spec.workspace, session: spec.id };
		await this.#guard?.checkStart({ spec, script, chosen }, (deed) => this.record(deed, place));
		this.record(
			{
				action: "open",
				program: spec.argv[0] ?? "",
				cwd: spec.cwd,
				mode: spec.mode,
				durable: spec.durable,
				sandbox: command.sandbox?.type ?? null,
			},
			place,
		);
		try {
			return await sessions.create(start);
		} catch (error) {
			this.record({ action: "open-failed", code: SessionError.from(error).code }, place);
			throw error;
		}
	}

	/** Takes in a session that has ended elsewhere, of which so many bytes were sent. */
	async keep(sessions: Sessions, spec: SessionSpec, facts: AsyncIterable<TimedFact>, bytes: number): Promise<Session> {
		const place = { workspace: spec.workspace, session: spec.id };
		this.record({ action: "import", bytes }, place);
		try {
			return await sessions.keep(spec, facts);
		} catch (error) {
			this.record({ action: "open-failed", code: SessionError.from(error).code }, place);
			throw error;
		}
	}

	async remove(sessions: Sessions, session: Session, options: Parameters<Sessions["remove"]>[1] = {}): Promise<void> {
		const { id, spec } = session;
		const place = { workspace: spec.workspace, session: id };
		await this.#guard?.checkDelete(session, (deed) => this.record(deed, place));
		this.record({ action: "remove", force: options.force === true }, place);
		await sessions.remove(id, options);
	}

	/**
	 * This caller, once it may end all that `sessions` gives, also what begins while others are decided on. For what
	 * consists of sessions and is ended as a whole: its end begins when nobody can refuse any part of it.
	 */
	async allowedToEnd(sessions: () => readonly Session[]): Promise<Witness> {
		const guard = this.#guard;
		if (!guard) return this;
		const allowed = new Set<string>();
		const next = () => sessions().find(({ id }) => !allowed.has(id));
		for (let session = next(); session; session = next()) {
			const place = { workspace: session.spec.workspace, session: session.id };
			await guard.checkStop(session, (deed) => this.record(deed, place));
			allowed.add(session.id);
		}
		return new Witness(this.#audit, this.#by, this.#bearer, () => null);
	}

	/** The session as this caller has it. */
	session(session: Session): Session {
		const place = { workspace: session.spec.workspace, session: session.id };
		return new WitnessedSession(session, (deed) => this.record(deed, place), this.#guard);
	}
}

class WitnessedSession extends Session {
	readonly #session: Session;
	readonly #tell: (deed: Deed) => void;
	readonly #guard: Guard | null;
	readonly #whole: Whole | undefined;

	constructor(session: Session, tell: (deed: Deed) => void, guard: Guard | null, whole?: Whole) {
		super(session.spec);
		this.#session = session;
		this.#tell = tell;
		this.#guard = guard;
		this.#whole = whole;
	}

	get state(): State {
		return this.#session.state;
	}

	override get isGated(): boolean {
		return this.#guard !== null;
	}

	watch(listener: (state: State) => void): () => void {
		return this.#session.watch(listener);
	}

	follow(start: Start, options?: FollowOptions): AsyncIterable<Item> {
		return this.#session.follow(start, options);
	}

	receipts(stream: string, signal?: AbortSignal): AsyncIterable<Receipt> {
		return this.#session.receipts(stream, signal);
	}

	override info(patienceMs?: number): Promise<SessionInfo> {
		return this.#session.info(patienceMs);
	}

	override inParts(whole: TypedWhole): Session {
		return this.#guard ? new WitnessedSession(this.#session, this.#tell, this.#guard, new Whole(whole)) : this;
	}

	override handReplies(by: Replier, onOwn: (part: OwnReplies) => void): Promise<number> {
		return this.#session.handReplies(by, onOwn);
	}

	ask<Name extends Operation>(question: Question<Name>, signal?: AbortSignal): Promise<Operations[Name]["answer"]> {
		const ask = (allowed: Question<Name>) => this.#ask(allowed, signal);
		if (!this.#guard) return ask(question);
		return this.#guard.pass(this.#session, question, { perform: ask, tell: this.#tell, whole: this.#whole });
	}

	async #ask<Name extends Operation>(
		question: Question<Name>,
		signal: AbortSignal | undefined,
	): Promise<Operations[Name]["answer"]> {
		const asked = question as Question;
		// Before it is done, for the end that it brings comes first otherwise.
		if (asked.do === "kill" && this.state.status === "running") {
			this.#tell({ action: "kill", signal: asked.options.signal ?? null });
		}
		if (asked.do === "run" && typeof asked.command === "string") {
			this.#tell({ action: "run", bytes: new TextEncoder().encode(asked.command).byteLength });
		}
		try {
			const answer = await this.#session.ask(question, signal);
			if (asked.do === "act" || asked.do === "actIfWaiting") this.#acted(asked, answer as Receipt);
			if (asked.do === "secret" && (answer as Receipt).accepted !== 0) this.#tell({ action: "secret" });
			if (asked.do === "acquire") {
				this.#tell({ action: asked.take ? "take-over" : "control", exclusive: asked.exclusive });
			}
			return answer;
		} catch (error) {
			const { code } = SessionError.from(error);
			if (acting.has(asked.do) && (code === "not_writable" || code === "permission_denied"))
				this.#tell({ action: "refused", code });
			throw error;
		}
	}

	/** A repeat is nothing that was done. */
	#acted({ act, options: { origin } }: Question<"act" | "actIfWaiting">, { next, accepted }: Receipt): void {
		const position = origin?.position ?? 0;
		const units = accepted ?? Math.min(next - position, unitsOf(act));
		if (units <= 0) return;
		if (act.kind === "write") {
			const place = origin ? { stream: origin.stream, position: next - units } : {};
			this.#tell({ action: "input", bytes: units, ...place });
		} else if (act.kind === "resize") this.#tell({ action: "resize", size: act.size });
		else if (act.kind === "signal") this.#tell({ action: "signal", signal: act.signal });
		else this.#tell({ action: "eof" });
	}
}
