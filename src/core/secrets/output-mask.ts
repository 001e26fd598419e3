/**
 * Masks the secrets in a session's facts on their way to the log.
 *
 * The beginning of a possible secret is held until more output comes, or none came for a short time. Other facts wait
 * behind the held bytes, so the log keeps their order. The time does not run while the output is not read, because the
 * rest may be in the kernel.
 */

import type { Clock } from "../async/clock.ts";
import { type Fact, isFinal } from "../log/event.ts";
import { MOST_TAKEN_BYTES, SecretMasker } from "./masks.ts";

/**
 * A program writes the rest of a value sooner than this, and users don't notice the delay.
 * @limit output that may begin a secret, without more output | it is shown; if it is half of the secret or more, it is
 * masked
 */
const HELD_MS = 50;
/** The shell hooks cut a command's text at this many characters or later. A shorter text is complete. */
const SHORTEST_CUT = 800;
const NOTHING = new Uint8Array(0);

type MaskedOutputOptions = {
	readonly clock: Clock;
	readonly onFact: (fact: Fact) => void;
	/** Reports the output that the kernel has now. */
	readonly catchUp: () => void;
};

/** A fact, and the number of output bytes before it. */
type Waiting = { readonly fact: Fact; readonly offset: number };

export class MaskedOutput {
	readonly #options: MaskedOutputOptions;
	/** Undefined until there is a secret: then output passes as it is. */
	#masks: SecretMasker | undefined;
	/** At most one fact per held byte, plus the end of the session. */
	readonly #waiting: Waiting[] = [];
	/** Output bytes received, and passed on. */
	#taken = 0;
	#shown = 0;
	#isPaused = false;
	#cancelDeadline: (() => void) | undefined;

	constructor(options: MaskedOutputOptions) {
		this.#options = options;
	}

	/** Masks the secret from now on. */
	mask(secret: Uint8Array): void {
		const masks = this.#masks ?? new SecretMasker();
		masks.add(secret);
		// A short value is not masked.
		if (!masks.isEmpty) this.#masks = masks;
	}

	/** Masks the secrets in these texts of an object. */
	hide<Key extends string, Texts extends Readonly<Record<Key, string | null>>>(
		texts: Texts,
		keys: readonly Key[],
	): Texts {
		const masks = this.#masks;
		if (!masks) return texts;
		const hidden: Partial<Record<Key, string | null>> = {};
		for (const key of keys) {
			const text: string | null = texts[key];
			if (text !== null) hidden[key] = masks.hide(text, text.length >= SHORTEST_CUT);
		}
		return { ...texts, ...hidden };
	}

	/** Takes the facts of the session in order. */
	report(fact: Fact): void {
		if (fact.kind === "output" && fact.stream === "pty") {
			if (this.#masks) this.#take(fact.bytes, this.#masks);
			else this.#options.onFact(fact);
			return;
		}
		const last = this.#waiting.at(-1);
		// Among sizes without output in between only the last one counts, so few facts can wait.
		const replacesLast = fact.kind === "resized" && last?.fact.kind === "resized" && last.offset === this.#taken;
		if (replacesLast) this.#waiting.pop();
		this.#waiting.push({ fact, offset: this.#taken });
		this.#show(isFinal(fact) && this.#masks ? this.#masks.release() : NOTHING);
		if (isFinal(fact)) this.#cancelDeadline?.();
	}

	/** Called when the output is no longer read. */
	pause(): void {
		this.#isPaused = true;
		this.#setDeadline();
	}

	resume(): void {
		this.#isPaused = false;
		this.#setDeadline();
	}

	#take(bytes: Uint8Array, masks: SecretMasker): void {
		for (let from = 0; from < bytes.byteLength; from += MOST_TAKEN_BYTES) {
			const part = bytes.subarray(from, from + MOST_TAKEN_BYTES);
			this.#taken += part.byteLength;
			this.#show(masks.take(part));
		}
		this.#setDeadline();
	}

	/** Passes on these bytes, and every fact whose turn has come. */
	#show(bytes: Uint8Array): void {
		for (let rest = bytes; ; ) {
			const [next] = this.#waiting;
			const length = next ? Math.min(rest.byteLength, next.offset - this.#shown) : rest.byteLength;
			if (length > 0) {
				const part = rest.subarray(0, length);
				rest = rest.subarray(length);
				this.#shown += length;
				this.#options.onFact({ kind: "output", stream: "pty", bytes: part });
			} else if (next && next.offset === this.#shown) {
				this.#waiting.shift();
				this.#options.onFact(next.fact);
			} else return;
		}
	}

	/** Only output and the deadline release held bytes, so only they may restart it. */
	#setDeadline(): void {
		this.#cancelDeadline?.();
		const isRunning = this.#masks?.isHolding === true && !this.#isPaused;
		this.#cancelDeadline = isRunning ? this.#options.clock.after(HELD_MS, () => this.#expire()) : undefined;
	}

	#expire(): void {
		const taken = this.#taken;
		// On a busy machine the rest may already be in the kernel.
		this.#options.catchUp();
		// If more came, the deadline was set again or reading is paused.
		if (this.#taken === taken && this.#masks) this.#show(this.#masks.release());
	}
}
