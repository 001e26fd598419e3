/**
 * What is done to one program, in the order in which its client asked for it, and never faster than it takes it.
 *
 * Acts are acknowledged when they are queued, up to a bound; then the next acknowledgement waits. Nothing that ends
 * the program goes through here, so that one that does not read its input delays none of that.
 */

import type { Act } from "../../../core/act.ts";
import { SessionError } from "../../../core/errors.ts";
import { unitsOf } from "../../../core/input.ts";
import { offer } from "../../../core/offer.ts";
import type { Session } from "../../../core/session.ts";
import { isNotApproved } from "../../not-approved.ts";
import { overloaded, refused } from "../errors.ts";
import type { AppLimits } from "../limits.ts";

/** The input stream of the core's ledger that is ours. */
const STREAM = "codex";

/** How long after a program took no more input it may turn out that it has ended. */
const ENDING_MS = 500;

type Entry = {
	readonly acts: readonly Act[];
	readonly units: number;
	readonly acknowledge: () => void;
	readonly refuse: (reason: unknown) => void;
};

type InputOptions = {
	readonly session: Session;
	readonly limits: AppLimits;
	/** Hears of our own faults. */
	readonly report: (problem: unknown) => void;
};

export class Input {
	readonly #options: InputOptions;
	/** All that the session has not taken, the oldest first; as many of them as `#queued` are acknowledged. */
	#entries: Entry[] = [];
	#queued = 0;
	#queuedUnits = 0;
	/** Of all entries. */
	#units = 0;
	#position = 0;
	#isFeeding = false;
	/** The program has closed its input, which is its own business: what is sent is taken, and lost. */
	#isDeaf = false;

	constructor(options: InputOptions) {
		this.#options = options;
	}

	/** Refuses more when too much waits to be acknowledged. */
	checkRoom(): void {
		const { waitingActs, waitingActBytes } = this.#options.limits;
		const isFull =
			this.#entries.length - this.#queued >= waitingActs || this.#units - this.#queuedUnits >= waitingActBytes;
		if (isFull) throw overloaded();
	}

	/**
	 * Resolves when the acts are queued, or done if they may have to be approved. Rejects when nobody approved one of
	 * them, and those after it are not done then; or when the program ended first, with what `close` was given.
	 */
	add(...acts: readonly Act[]): Promise<void> {
		if (this.#isDeaf) return Promise.resolve();
		return new Promise((acknowledge, refuse) => {
			const units = acts.reduce((sum, act) => sum + unitsOf(act), 0);
			this.#entries.push({ acts, units, acknowledge, refuse });
			this.#units += units;
			this.#acknowledge();
			if (!this.#isFeeding) this.#feed().catch(this.#options.report);
		});
	}

	/** The program has ended: what it did not take is lost, and who still waits is refused. */
	close(reason: unknown): void {
		this.#drop((entry) => entry.refuse(reason));
	}

	#acknowledge(): void {
		// What may have to be approved is acknowledged once it is done.
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
			this.#isDeaf = true;
			// Its end closes its input, too, a moment before we hear of it: `close` is first then. It is heard before this if
			// it has come by now, also when our timer is late.
			const acknowledge = () => this.#drop((entry) => entry.acknowledge());
			setTimeout(() => setImmediate(acknowledge), ENDING_MS).unref();
		} finally {
			this.#isFeeding = false;
		}
	}

	/** Resolves with why one of them was not approved, if so; nothing after that is done. */
	async #give(acts: readonly Act[]): Promise<SessionError | undefined> {
		for (const act of acts) {
			const origin = { stream: STREAM, position: this.#position };
			// Other acts are waited for until they are done: the core bounds the bytes that wait, but refuses too many acts.
			const until = act.kind === "write" ? "accepted" : "written";
			const given = await offer(this.#options.session, act, { origin, until }).catch(refusalOf);
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
		// Of no effect if it was acknowledged when it was queued.
		if (refusal) entry.refuse(refused(refusal.message));
		else entry.acknowledge();
		this.#acknowledge();
	}

	#drop(settle: (entry: Entry) => void): void {
		const entries = this.#entries;
		this.#entries = [];
		this.#queued = 0;
		this.#queuedUnits = 0;
		this.#units = 0;
		// Of no effect on those that were acknowledged.
		for (const entry of entries) settle(entry);
	}
}

/** Of what nobody approved; whatever comes after it goes on. */
function refusalOf(error: unknown): SessionError {
	if (error instanceof SessionError && isNotApproved(error)) return error;
	throw error;
}
