/**
 * The input queue of one program: applies actions in the client's order, as fast as the program takes them.
 *
 * Actions are acknowledged when queued, up to a limit; then the next acknowledgment waits. Requests that end the
 * program bypass the queue, so a program that does not read its input does not delay them.
 */

import { SessionError } from "../../../../core/errors.ts";
import type { Action } from "../../../../core/input/action.ts";
import { unitsOf } from "../../../../core/input/input-queue.ts";
import { isNotApproved } from "../../../../core/policy/not-approved.ts";
import { sendInParts } from "../../../../core/session/send-input.ts";
import type { Session } from "../../../../core/session/session.ts";
import { invalidRequest, overloaded } from "../errors.ts";
import type { AppLimits } from "../limits.ts";

/** Name of our input stream in the core's ledger. */
const STREAM = "codex";

/** Time between a refused write and the report that the program has ended. */
const ENDING_MS = 500;

type Entry = {
	readonly acts: readonly Action[];
	readonly units: number;
	readonly acknowledge: () => void;
	readonly refuse: (reason: unknown) => void;
};

type InputOptions = {
	readonly session: Session;
	readonly limits: AppLimits;
	/** Reports internal errors. */
	readonly report: (problem: unknown) => void;
};

export class Input {
	readonly #options: InputOptions;
	/** All actions not taken by the session, oldest first. The first `#queued` are acknowledged. */
	#entries: Entry[] = [];
	#queued = 0;
	#queuedUnits = 0;
	/** Units of all entries together. */
	#units = 0;
	#position = 0;
	#isFeeding = false;
	/** The program closed its input. Further input is acknowledged and discarded. */
	#isInputClosed = false;

	constructor(options: InputOptions) {
		this.#options = options;
	}

	/** Throws if too many actions are unacknowledged. */
	checkRoom(): void {
		const { waitingActs, waitingActBytes } = this.#options.limits;
		const isFull =
			this.#entries.length - this.#queued >= waitingActs || this.#units - this.#queuedUnits >= waitingActBytes;
		if (isFull) throw overloaded();
	}

	/**
	 * Resolves when the actions are queued, or applied if they may need approval. Rejects if one was not approved; the
	 * actions after it are dropped. Also rejects with the reason passed to `close` if the program ends first.
	 */
	add(...acts: readonly Action[]): Promise<void> {
		if (this.#isInputClosed) return Promise.resolve();
		return new Promise((acknowledge, refuse) => {
			const units = acts.reduce((sum, act) => sum + unitsOf(act), 0);
			this.#entries.push({ acts, units, acknowledge, refuse });
			this.#units += units;
			this.#acknowledge();
			if (!this.#isFeeding) this.#feed().catch(this.#options.report);
		});
	}

	/** The program has ended: drops queued input and rejects waiting calls. */
	close(reason: unknown): void {
		this.#drop((entry) => entry.refuse(reason));
	}

	#acknowledge(): void {
		// Input that may need approval is acknowledged after it is applied.
		if (this.#options.session.isGated) return;
		const { queuedActs, queuedBytes } = this.#options.limits;
		while (this.#queued < queuedActs && this.#queuedUnits < queuedBytes) {
			const next = this.#entries[this.#queued];
			if (!next) return;
			this.#queued++;
			this.#queuedUnits += next.units;
			next.acknowledge();
		}
	}

	async #feed(): Promise<void> {
		this.#isFeeding = true;
		try {
			for (let entry = this.#entries[0]; entry; entry = this.#entries[0]) {
				this.#taken(entry, await this.#give(entry.acts));
			}
		} catch (error) {
			if (!(error instanceof SessionError)) throw error;
			this.#isInputClosed = true;
			// A program's end also closes its input, slightly before the end is reported. `close` must win then, even if this
			// timer is late.
			const acknowledge = () => this.#drop((entry) => entry.acknowledge());
			setTimeout(() => setImmediate(acknowledge), ENDING_MS).unref();
		} finally {
			this.#isFeeding = false;
		}
	}

	/** Resolves with the refusal if an action was not approved; the actions after it are not applied. */
	async #give(acts: readonly Action[]): Promise<SessionError | undefined> {
		for (const act of acts) {
			const origin = { stream: STREAM, position: this.#position };
			// Wait until other actions are applied: the core queues many bytes, but refuses too many actions.
			const until = act.kind === "write" ? "accepted" : "written";
			const given = await sendInParts(this.#options.session, act, { origin, until }).catch(refusalOf);
			if (given instanceof SessionError) return given;
			this.#position = given.next;
		}
		return undefined;
	}

	#taken(entry: Entry, refusal: SessionError | undefined): void {
		if (this.#entries[0] !== entry) return;
		this.#entries.shift();
		this.#units -= entry.units;
		if (this.#queued > 0) {
			this.#queued--;
			this.#queuedUnits -= entry.units;
		}
		// No effect on entries that are already acknowledged.
		if (refusal) entry.refuse(invalidRequest(refusal.message));
		else entry.acknowledge();
		this.#acknowledge();
	}

	#drop(settle: (entry: Entry) => void): void {
		const entries = this.#entries;
		this.#entries = [];
		this.#queued = 0;
		this.#queuedUnits = 0;
		this.#units = 0;
		// No effect on entries that are already acknowledged.
		for (const entry of entries) settle(entry);
	}
}

/** Returns the refusal of an unapproved action, after which the queue continues; rethrows anything else. */
function refusalOf(error: unknown): SessionError {
	if (error instanceof SessionError && isNotApproved(error)) return error;
	throw error;
}
