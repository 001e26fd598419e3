/**
 * Determines what a session's program waits for, on request or as soon as it begins to wait for input.
 *
 * While a caller waits for that, the program is inspected repeatedly: soon after the last byte, because programs write
 * a question and then wait, and rarely in long silence. A prompt is noticed after about 20 ms, and a silent program
 * costs one inspection every five seconds. A program that already waits is not inspected again before the next byte.
 */

import { Change } from "../async/change.ts";
import type { Clock } from "../async/clock.ts";
import type { ProcessSnapshot } from "../process/process-snapshot.ts";
import {
	type ActivityVerdict,
	decide,
	ENDED,
	type Inspection,
	type InspectionContext,
	isTimedOut,
	isWaitingForInput,
	TOO_SLOW,
} from "./inspection.ts";

/** Times of inspections after the last byte. The last one repeats. */
const LOOKS_AFTER_MS = [20, 60, 200, 1_000, 5_000] as const;
const LONGEST_PAUSE_MS = 5_000;
/** A wait that is still there this long after the last byte was caused by that byte. */
const SETTLED_MS = 1_000;
/** After this many inspections in a row without a wait, further ones are at least VAIN_PAUSE_MS apart. */
const VAIN_LOOKS = 5;
const VAIN_PAUSE_MS = 100;
/** A program between two reads may seem to wait. A wait counts only if it is still there after this time. */
const CONFIRM_MS = 2;
/**
 * Timeout of an inspection: more than it takes on a busy machine.
 * @limit one inspection | the answer is `unknown` (`slow`)
 */
const LOOK_MS = 1_000;

export type Inspected = {
	look(): Promise<ProcessSnapshot | undefined>;
	context(snapshot: ProcessSnapshot): InspectionContext;
	/** Monotonic time of the last input or output byte. */
	lastActivity(): number;
	/** Counts lines, signals and ends of input. A wait after any of them is a new one. */
	turns(): number;
	isEnded(): boolean;
	/** Fields of the inspection that the session adds. */
	place(): Pick<Inspection, "offset" | "since">;
};

/**
 * `look` numbers the inspections by their start. `turns` was read at the start, because later input was not considered.
 */
type Found = {
	readonly verdict: ActivityVerdict;
	readonly snapshot: ProcessSnapshot | undefined;
	readonly look: number;
	readonly turns: number;
};

export class Inspector {
	readonly #program: Inspected;
	readonly #clock: Clock;
	readonly #wake = new Change();
	/** When the waiting callers inspect next; in the past while none wait. */
	#lookAt = Number.NEGATIVE_INFINITY;
	#vain = 0;
	#episode = 0;
	/** Identifies the wait of the current episode; undefined once it is over. */
	#wait: string | undefined;
	#countedAt = Number.NEGATIVE_INFINITY;
	#looks = 0;
	/** The newest inspection that was counted. */
	#counted = 0;

	constructor(program: Inspected, clock: Clock) {
		this.#program = program;
		this.#clock = clock;
	}

	async inspect(): Promise<Inspection> {
		let found = await this.#look();
		if (isWaitingForInput(found.verdict) && !this.#isKnown(found)) {
			await new Promise<void>((resolve) => this.#clock.after(CONFIRM_MS, resolve));
			found = await this.#look();
		}
		// A later inspection has finished first. This one is outdated and could report a wait that is over.
		if (found.look < this.#counted) return this.inspect();
		this.#count(found);
		const { pid = null, program = null, cwd = null, ...more } = found.snapshot ?? {};
		const counted = "processes" in more ? { processes: more.processes, isInner: more.isInner } : {};
		const quietMs = this.#clock.monotonic() - this.#program.lastActivity();
		const place = this.#program.place();
		return { ...found.verdict, pid, program, cwd, ...counted, ...place, quietMs, episode: this.#episode };
	}

	/** Resolves when the program waits for input in a later episode, has ended, or the signal aborts. */
	async untilWaiting(after: number, signal?: AbortSignal): Promise<Inspection> {
		for (;;) {
			const found = await this.inspect();
			const isNews = isWaitingForInput(found) && found.episode > after;
			if (isNews || found.state === "ended" || signal?.aborted) return found;
			this.#vain = isWaitingForInput(found) || found.quietMs >= SETTLED_MS ? 0 : this.#vain + 1;
			await this.#untilDue(isWaitingForInput(found), signal);
		}
	}

	/** Called for each byte and at the end. Only a comparison, unless waiting callers would inspect much later. */
	noteActivity(): void {
		if (this.#lookAt > this.#clock.monotonic() + LOOKS_AFTER_MS[0] || this.#program.isEnded()) this.#wake.happen();
	}

	async #look(): Promise<Found> {
		const begun = { look: ++this.#looks, turns: this.#program.turns() };
		if (this.#program.isEnded()) return { verdict: ENDED, snapshot: undefined, ...begun };
		let cancel = () => {};
		const late = new Promise<"late">((resolve) => {
			cancel = this.#clock.after(LOOK_MS, () => resolve("late"));
		});
		const snapshot = await Promise.race([this.#program.look().catch(() => "late" as const), late]);
		cancel();
		// The program may have ended meanwhile.
		if (this.#program.isEnded() || snapshot === undefined) return { verdict: ENDED, snapshot: undefined, ...begun };
		if (snapshot === "late") return { verdict: TOO_SLOW, snapshot: undefined, ...begun };
		return { verdict: decide(snapshot, this.#program.context(snapshot)), snapshot, ...begun };
	}

	#isKnown(found: Found): boolean {
		return this.#nameOf(found) === this.#wait && this.#program.lastActivity() < this.#countedAt;
	}

	/** Identifies a wait. The same state in another program is another wait. */
	#nameOf({ verdict, snapshot, turns }: Found): string {
		return `${verdict.state} ${verdict.kind} ${snapshot?.pid} ${snapshot?.image} ${turns}`;
	}

	#count(found: Found): void {
		// After a timeout the program may still wait as before.
		if (isTimedOut(found.verdict)) return;
		this.#counted = found.look;
		this.#countedAt = this.#clock.monotonic();
		if (isWaitingForInput(found.verdict)) {
			const wait = this.#nameOf(found);
			if (wait !== this.#wait) this.#episode++;
			this.#wait = wait;
		} else if (!this.#wait?.startsWith("tui")) {
			// A full-screen program redraws now and then, and waits all the time.
			this.#wait = undefined;
		}
	}

	/** Waits for the next inspection. Activity may bring it forward. */
	async #untilDue(isInWait: boolean, signal: AbortSignal | undefined): Promise<void> {
		const begin = this.#clock.monotonic();
		const earliest = begin + (this.#vain > VAIN_LOOKS ? VAIN_PAUSE_MS : 0);
		for (;;) {
			const now = this.#clock.monotonic();
			const last = this.#program.lastActivity();
			// Activity after the last inspection starts the schedule again.
			const passed = Math.max(begin, last) - last;
			const isSettled = isInWait && passed >= SETTLED_MS;
			const next = LOOKS_AFTER_MS.find((ms) => ms > passed) ?? passed + LONGEST_PAUSE_MS;
			const due = isSettled ? Number.POSITIVE_INFINITY : Math.max(earliest, last + next);
			if (due <= now || signal?.aborted || this.#program.isEnded()) break;
			this.#lookAt = due;
			const cancel = isSettled ? () => {} : this.#clock.after(due - now, () => this.#wake.happen());
			await this.#wake.wait(signal);
			cancel();
		}
	}
}
