/** One caller's access to sessions: records its actions in the audit log, and holds them if its gate says so. */

import { SessionError } from "../errors.ts";
import type { Receipt, SplitText } from "../input/action.ts";
import { unitsOf } from "../input/input-queue.ts";
import type { Operation, OperationRequest, Operations } from "../session/operations.ts";
import type { Session } from "../session/session.ts";
import type { SessionSpec } from "../session/session-info.ts";
import type { Sessions, TimedFact } from "../session/session-registry.ts";
import { WrappedSession } from "../session/wrapped-session.ts";
import { type CallerIdentity, missingRightError } from "./access.ts";
import type { Approval } from "./approvals.ts";
import type { Actor, Audit, AuditedAction } from "./audit.ts";
import type { GateCheck } from "./gate-check.ts";
import type { PlannedStart, RequestedStart } from "./planned-start.ts";
import { SplitInput } from "./split-input.ts";

/** Operations whose refusal is recorded. */
const acting: ReadonlySet<Operation> = new Set<Operation>(["act", "actIfWaiting", "secret", "run", "acquire", "kill"]);

/** Commands that a program runs in addition to its arguments. */
type Script = {
	readonly text: string;
	/**
	 * Writes them where the program reads them. Called after the gate has allowed the start, because others could change
	 * the file before.
	 */
	readonly write: () => Promise<void>;
};

/** Returns the gate check of a caller; null without a gate. `isLasting`: the caller may come back for the result. */
type GuardOf = (bearer: CallerIdentity, isLasting: boolean) => GateCheck | null;

export class AuditedCaller {
	readonly #audit: Audit;
	readonly #by: Actor;
	readonly #bearer: CallerIdentity | null;
	readonly #guardOf: GuardOf;
	readonly #guard: GateCheck | null;
	/** Whether a refusal was recorded, so that the resulting error is not recorded again. */
	hasRefused = false;

	/** `bearer` is null while the caller is unknown; such a caller starts nothing. */
	constructor(audit: Audit, by: Pick<Actor, "from" | "front">, bearer: CallerIdentity | null, guardOf: GuardOf) {
		this.#audit = audit;
		this.#by = { ...by, id: bearer?.id ?? null, name: bearer?.name ?? null };
		this.#bearer = bearer;
		this.#guardOf = guardOf;
		this.#guard = bearer && guardOf(bearer, false);
	}

	/** Approvals granted for actions made through this caller. */
	get granted(): readonly Approval[] {
		return this.#guard?.granted ?? [];
	}

	/** Whether one of its actions waits for approval. */
	get isHeld(): boolean {
		return this.#guard?.isHeld === true;
	}

	record(action: AuditedAction, place: { readonly workspace?: string; readonly session?: string } = {}): void {
		if (action.action === "refused") this.hasRefused = true;
		this.#audit.record({ ...action, ...place, by: this.#by });
	}

	/** The caller of the same connection, once it is authenticated. */
	as(bearer: CallerIdentity): AuditedCaller {
		return new AuditedCaller(this.#audit, this.#by, bearer, this.#guardOf);
	}

	/** The same caller, which may come back over another connection: its held actions are not withdrawn with this one. */
	lasting(): AuditedCaller {
		return new AuditedCaller(this.#audit, this.#by, this.#bearer, (bearer) => this.#guardOf(bearer, true));
	}

	/**
	 * Starts a program for a caller that may manage the workspace. No other right is enough. The request is recorded
	 * before it takes effect.
	 */
	async create(sessions: Sessions, { usual, ...start }: RequestedStart, script?: Script): Promise<Session> {
		const { spec, command } = start;
		const place = { workspace: spec.workspace, session: spec.id };
		const { workspace } = spec;
		if (this.#bearer?.may("manage", { workspace }) !== true) {
			this.record({ action: "refused", code: "permission_denied", right: "manage" }, { workspace });
			throw missingRightError("manage", { workspace });
		}
		const planned = { place: spec, program: command, script: script?.text ?? "", usual };
		await this.#guard?.checkStart(planned, (action) => this.record(action, place));
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
			await script?.write();
			return await sessions.create(start);
		} catch (error) {
			this.record({ action: "open-failed", code: SessionError.from(error).code }, place);
			throw error;
		}
	}

	/** Checks something that is stored for later starts of other callers. */
	async checkStore(stored: PlannedStart): Promise<void> {
		await this.#guard?.checkStore(stored, (action) => this.record(action, { workspace: stored.place.workspace }));
	}

	/** Imports a session that ended elsewhere, from a recording of this size. */
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
		await this.#guard?.checkDelete(session, (action) => this.record(action, place));
		this.record({ action: "remove", force: options.force === true }, place);
		await sessions.remove(id, options);
	}

	/**
	 * Returns this caller without its gate once it may end all of `sessions`, including those that begin during the
	 * approvals. For a group of sessions that ends as a whole: its end starts when no part of it can be refused any more.
	 */
	async allowedToEnd(sessions: () => readonly Session[]): Promise<AuditedCaller> {
		const guard = this.#guard;
		if (!guard) return this;
		const allowed = new Set<string>();
		const next = () => sessions().find(({ id }) => !allowed.has(id));
		for (let session = next(); session; session = next()) {
			const place = { workspace: session.spec.workspace, session: session.id };
			await guard.checkStop(session, (action) => this.record(action, place));
			allowed.add(session.id);
		}
		return new AuditedCaller(this.#audit, this.#by, this.#bearer, () => null);
	}

	/** The session with this caller's checks and records. */
	session(session: Session): Session {
		const place = { workspace: session.spec.workspace, session: session.id };
		return new AuditedSession(session, (action) => this.record(action, place), this.#guard);
	}
}

class AuditedSession extends WrappedSession {
	readonly #record: (action: AuditedAction) => void;
	readonly #guard: GateCheck | null;
	readonly #whole: SplitInput | undefined;

	constructor(session: Session, record: (action: AuditedAction) => void, guard: GateCheck | null, whole?: SplitInput) {
		super(session);
		this.#record = record;
		this.#guard = guard;
		this.#whole = whole;
	}

	override get isGated(): boolean {
		return this.#guard !== null;
	}

	override inParts(whole: SplitText): Session {
		// Judge the whole text, also when a part of it is split again.
		if (!this.#guard || this.#whole) return this;
		return new AuditedSession(this.session, this.#record, this.#guard, new SplitInput(whole));
	}

	ask<Name extends Operation>(
		request: OperationRequest<Name>,
		signal?: AbortSignal,
	): Promise<Operations[Name]["answer"]> {
		const ask = (allowed: OperationRequest<Name>) => this.#ask(allowed, signal);
		if (!this.#guard) return ask(request);
		return this.#guard.pass(this.session, request, { perform: ask, record: this.#record, whole: this.#whole });
	}

	async #ask<Name extends Operation>(
		request: OperationRequest<Name>,
		signal: AbortSignal | undefined,
	): Promise<Operations[Name]["answer"]> {
		const asked = request as OperationRequest;
		// Record a kill before it is done, because the resulting end is recorded first otherwise.
		if (asked.do === "kill" && this.state.status === "running") {
			this.#record({ action: "kill", signal: asked.options.signal ?? null });
		}
		if (asked.do === "run" && typeof asked.command === "string") {
			this.#record({ action: "run", bytes: new TextEncoder().encode(asked.command).byteLength });
		}
		try {
			const answer = await this.session.ask(request, signal);
			if (asked.do === "act" || asked.do === "actIfWaiting") this.#acted(asked, answer as Receipt);
			if (asked.do === "secret" && (answer as Receipt).accepted !== 0) this.#record({ action: "secret" });
			if (asked.do === "acquire") {
				this.#record({ action: asked.take ? "take-over" : "control", exclusive: asked.exclusive });
			}
			return answer;
		} catch (error) {
			const { code } = SessionError.from(error);
			if (acting.has(asked.do) && (code === "not_writable" || code === "permission_denied"))
				this.#record({ action: "refused", code });
			throw error;
		}
	}

	/** Records accepted input. A repeat is not recorded. */
	#acted({ act, options: { origin } }: OperationRequest<"act" | "actIfWaiting">, { next, accepted }: Receipt): void {
		const position = origin?.position ?? 0;
		const units = accepted ?? Math.min(next - position, unitsOf(act));
		if (units <= 0) return;
		if (act.kind === "write") {
			const place = origin ? { stream: origin.stream, position: next - units } : {};
			this.#record({ action: "input", bytes: units, ...place });
		} else if (act.kind === "resize") this.#record({ action: "resize", size: act.size });
		else if (act.kind === "signal") this.#record({ action: "signal", signal: act.signal });
		else this.#record({ action: "eof" });
	}
}
