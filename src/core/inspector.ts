/**
 * Finds out what a session's program waits for, now or as soon as it begins to wait for somebody.
 *
 * It looks when somebody asks. Who wants to hear of a wait makes it look again and again: soon after the last byte came
 * or went, because programs that ask something write it and then wait, and rarely once nothing happens for long. So a
 * prompt is noticed after some 20 ms, and a program that is silent costs a look every five seconds, if anybody wants to
 * hear of it. One that waits already is not looked at again until a byte comes or goes: without, its wait is the same.
 */

import type { Act } from "./act.ts";
import { Change } from "./change.ts";
import type { Clock } from "./clock.ts";
import {
	decide,
	ENDED,
	type Inspection,
	isUnseen,
	isWaiting,
	type Sight,
	type Surroundings,
	TOO_SLOW,
	type Verdict,
} from "./inspection.ts";

/** When to look, after the last byte came or went; from the last one on, so often. */
const LOOKS_AFTER_MS = [20, 60, 200, 1_000, 5_000] as const;
const LONGEST_PAUSE_MS = 5_000;
/** A wait that is still there so long after the last byte is the one that this byte led to. */
const SETTLED_MS = 1_000;
/** A program that writes now and then is looked at often for nothing: after so many in a row, not more often than this. */
const VAIN_LOOKS = 5;
const VAIN_PAUSE_MS = 100;
/** Who is about to go on may seem to wait for a moment, so a wait is one that is still there after this. */
const CONFIRM_MS = 2;
/** More than a look takes on a busy machine; what takes longer is not waited for. */
const LOOK_MS = 1_000;

/** The keys with which a line, or what a program does, ends: Enter, ^C, ^D, and a newline that is written as such. */
const TURN_KEYS = [0x0d, 0x0a, 0x03, 0x04];

export type Inspected = {
	look(): Promise<Sight | undefined>;
	surroundings(): Surroundings;
	/** When the last byte came or went, by the monotonic clock. */
	lastActivity(): number;
	/** How many lines, signals and ends of input it was given: after each of them a wait is another. */
	turns(): number;
	isEnded(): boolean;
	/** What is told besides the verdict. */
	place(): Pick<Inspection, "offset" | "since">;
};

/** `look` counts them as they begin. `turns` is how many it had been given by then: what is typed meanwhile was not seen. */
type Found = {
	readonly verdict: Verdict;
	readonly sight: Sight | undefined;
	readonly look: number;
	readonly turns: number;
};

export class Inspector {
	readonly #program: Inspected;
	readonly #clock: Clock;
	readonly #wake = new Change();
	/** When those who wait look again; never, while nobody does. */
	#lookAt = Number.NEGATIVE_INFINITY;
	#vain = 0;
	#episode = 0;
	/** The wait that the episode is about; undefined once it is over. */
	#wait: string | undefined;
	#countedAt = Number.NEGATIVE_INFINITY;
	#looks = 0;
	/** The youngest look that was counted. */
	#counted = 0;

	constructor(program: Inspected, clock: Clock) {
		this.#program = program;
		this.#clock = clock;
	}

	async inspect(): Promise<Inspection> {
		let found = await this.#look();
		if (isWaiting(found.verdict) && !this.#isKnown(found)) {
			await new Promise<void>((resolve) => this.#clock.after(CONFIRM_MS, resolve));
			found = await this.#look();
		}
		// One that began later was quicker, and has told more: a wait that is over would seem to have begun after its own.
		if (found.look < this.#counted) return this.inspect();
		this.#count(found);
		const { pid = null, program = null, cwd = null, ...more } = found.sight ?? {};
		const counted = "processes" in more ? { processes: more.processes, isInner: more.isInner } : {};
		const quietMs = this.#clock.monotonic() - this.#program.lastActivity();
		const place = this.#program.place();
		return { ...found.verdict, pid, program, cwd, ...counted, ...place, quietMs, episode: this.#episode };
	}

	/** Resolves once it waits for somebody in a later episode than this one, has ended, or the signal aborts. */
	async untilWaiting(after: number, signal?: AbortSignal): Promise<Inspection> {
		for (;;) {
			const found = await this.inspect();
			const isNews = isWaiting(found) && found.episode > after;
			if (isNews || found.state === "ended" || signal?.aborted) return found;
			this.#vain = isWaiting(found) || found.quietMs >= SETTLED_MS ? 0 : this.#vain + 1;
			await this.#untilDue(isWaiting(found), signal);
		}
	}

	/** A byte came or went, or the program has ended: costs a comparison, unless those who wait would look much later. */
	noteActivity(): void {
		if (this.#lookAt > this.#clock.monotonic() + LOOKS_AFTER_MS[0] || this.#program.isEnded()) this.#wake.happen();
	}

	async #look(): Promise<Found> {
		const begun = { look: ++this.#looks, turns: this.#program.turns() };
		if (this.#program.isEnded()) return { verdict: ENDED, sight: undefined, ...begun };
		let cancel = () => {};
		const late = new Promise<"late">((resolve) => {
			cancel = this.#clock.after(LOOK_MS, () => resolve("late"));
		});
		const sight = await Promise.race([this.#program.look().catch(() => "late" as const), late]);
		cancel();
		// It may have ended meanwhile.
		if (this.#program.isEnded() || sight === undefined) return { verdict: ENDED, sight: undefined, ...begun };
		if (sight === "late") return { verdict: TOO_SLOW, sight: undefined, ...begun };
		return { verdict: decide(sight, this.#program.surroundings()), sight, ...begun };
	}

	#isKnown(found: Found): boolean {
		return this.#nameOf(found) === this.#wait && this.#program.lastActivity() < this.#countedAt;
	}

	/** By which one wait is told from another: it is another, too, if another program does the waiting. */
	#nameOf({ verdict, sight, turns }: Found): string {
		return `${verdict.state} ${verdict.kind} ${sight?.pid} ${sight?.image} ${turns}`;
	}

	#count(found: Found): void {
		// Who was not seen in time may wait as before.
		if (isUnseen(found.verdict)) return;
		this.#counted = found.look;
		this.#countedAt = this.#clock.monotonic();
		if (isWaiting(found.verdict)) {
			const wait = this.#nameOf(found);
			if (wait !== this.#wait) this.#episode++;
			this.#wait = wait;
		} else if (!this.#wait?.startsWith("tui")) {
			// What has the screen to itself draws it now and then, and waits all the time.
			this.#wait = undefined;
		}
	}

	/** Until the next look is due: a byte that comes meanwhile may bring it forward. */
	async #untilDue(isInWait: boolean, signal: AbortSignal | undefined): Promise<void> {
		const begin = this.#clock.monotonic();
		const earliest = begin + (this.#vain > VAIN_LOOKS ? VAIN_PAUSE_MS : 0);
		for (;;) {
			const now = this.#clock.monotonic();
			const last = this.#program.lastActivity();
			// What came after the look that was made is looked at anew.
			const passed = Math.max(begin, last) - last;
			const isSettled = isInWait && passed >= SETTLED_MS;
			const next = LOOKS_AFTER_MS.find((ms) => ms > passed) ?? passed + LONGEST_PAUSE_MS;
			const due = isSettled ? Number.POSITIVE_INFINITY : Math.max(earliest, last + next);
			if (due <= now || signal?.aborted || this.#program.isEnded()) break;
			this.#lookAt = due;
			const cancel = isSettled ? () => {} : this.#clock.after(due - now, () => this.#wake.happen());
			await this.#wake.next(signal);
			cancel();
		}
	}
}

/** Whether a program that waits after this waits for something else than before. */
export function isTurn(act: Act): boolean {
	if (act.kind === "write") return TURN_KEYS.some((key) => act.bytes.includes(key));
	return act.kind !== "resize";
}
