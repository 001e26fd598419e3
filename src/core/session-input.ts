/** What a session is given to type or to do: by whoever may, at the question that it answers, and each thing once. */

import type { Act, ActOptions, Origin, Receipt } from "./act.ts";
import type { Clock } from "./clock.ts";
import { SessionError } from "./errors.ts";
import type { Size } from "./event.ts";
import { InputQueue, unitsOf } from "./input.ts";
import { type Inspection, isWaiting } from "./inspection.ts";
import { isTurn } from "./inspector.ts";
import type { WriterLease } from "./lease.ts";
import type { Process } from "./process.ts";
import { answeredThere, secretLine, wouldShow } from "./secret-line.ts";
import type { SecretQuestion } from "./session.ts";

/** The input stream of what a session answers itself. */
const REPLIES_STREAM = "hawser:replies";
/** ^C. */
const INTERRUPT: Uint8Array = Uint8Array.of(0x03);

type SessionInputOptions = {
	readonly clock: Clock;
	readonly lease: WriterLease;
	/** Undefined while there is none that takes input. */
	readonly program: () => Process | undefined;
	/** Where the output ends. */
	readonly end: () => number;
	readonly inspect: () => Promise<Inspection>;
	/** Just before it is written: from here on it is not shown. */
	readonly mask: (secret: Uint8Array) => void;
	/** Something new is to be typed or done, and not a size alone. */
	readonly onActivity: () => void;
	/** Before the program has it. */
	readonly onWrite: (bytes: Uint8Array) => void;
	/** Throws if it may not have this size. */
	readonly checkResize: (size: Size) => void;
	readonly onResized: (size: Size) => void;
	readonly onFailure: ((error: unknown) => void) | undefined;
};

export class SessionInput {
	readonly #options: SessionInputOptions;
	readonly queue: InputQueue;
	/** Lines, signals and ends of input that it was given, and where the output ended at the last of them. */
	#turns = 0;
	#turnedAt: number | undefined;

	constructor(options: SessionInputOptions) {
		this.#options = options;
		const { clock, onFailure } = options;
		this.queue = new InputQueue({ perform: (act) => this.#perform(act), clock, onFailure });
	}

	get turns(): number {
		return this.#turns;
	}

	accept(act: Act, { fence, origin }: ActOptions): Receipt {
		if (act.kind === "resize") this.#options.checkResize(act.size);
		this.#options.lease.check(fence);
		const before = this.queue.accepted;
		const receipt = this.queue.accept(act, origin, this.#options.end());
		// Not a repeat, and not a size: clients that nobody sits at tell theirs whenever they come back.
		const accepted = this.queue.accepted - before;
		if (accepted > 0 && act.kind !== "resize") this.#options.onActivity();
		return { ...receipt, accepted };
	}

	async acceptIfWaiting(act: Act, at: number, options: ActOptions): Promise<Receipt> {
		if (!this.#isRepeat(act, options.origin)) await this.#checkWaiting({ at });
		return this.accept(act, options);
	}

	/**
	 * That the terminal shows nothing is asked in the very turn in which the kernel takes the bytes: nothing else may wait
	 * to be typed before. Afterwards they are nowhere but among what is masked.
	 */
	async acceptSecret(value: Uint8Array, question: SecretQuestion, options: ActOptions): Promise<Receipt> {
		const act = { kind: "write", bytes: secretLine(value) } as const;
		let upTo = 0;
		try {
			if (this.#isRepeat(act, options.origin)) return this.accept(act, options);
			const { at, episode } = question;
			if (at !== undefined || episode !== undefined) await this.#checkWaiting(question);
			// Nothing was shown of what was typed, nor of what is asked since.
			if (at !== undefined && at === this.#turnedAt && episode === undefined) throw answeredThere();
			const terminal = this.#options.program()?.terminal();
			if (!terminal?.canonical || terminal.echo || this.queue.isWaiting) throw wouldShow();
			this.#options.mask(value);
			const receipt = this.accept(act, options);
			upTo = this.queue.accepted;
			return receipt;
		} finally {
			value.fill(0);
			// That the kernel has it is known a moment later.
			void this.queue.taken(upTo).then(() => act.bytes.fill(0));
		}
	}

	/** Whatever the lease says: it is the terminal that answers, and nobody who controls it. */
	reply(text: string): void {
		const { next: position } = this.queue.receipt(REPLIES_STREAM);
		const bytes = new TextEncoder().encode(text);
		this.queue.accept({ kind: "write", bytes }, { stream: REPLIES_STREAM, position });
		this.#options.onActivity();
	}

	interrupt(): void {
		this.queue.accept({ kind: "write", bytes: INTERRUPT });
	}

	/**
	 * The program is looked at, and what it wrote before is in the log then; from there to the write nothing is awaited.
	 * What was accepted meanwhile, by whomever, may have been the answer, and is what the program reads next.
	 */
	async #checkWaiting({ at, episode }: SecretQuestion): Promise<void> {
		const before = this.queue.accepted;
		const found = await this.#options.inspect();
		const end = this.#options.end();
		const isSame = isWaiting(found) && found.offset === end && (at ?? end) === end;
		if (isSame && found.episode === (episode ?? found.episode) && this.queue.accepted === before) return;
		throw new SessionError("not_waiting", "the program does not wait for this answer any more", {
			hint: "look at what it asks now",
		});
	}

	#isRepeat(act: Act, origin: Origin | undefined): boolean {
		return origin !== undefined && origin.position + unitsOf(act) <= this.queue.receipt(origin.stream).next;
	}

	#perform(act: Act): Promise<void> | void {
		const program = this.#options.program();
		if (!program) throw new SessionError("session_closed", "the program has ended");
		if (isTurn(act)) {
			this.#turns++;
			this.#turnedAt = this.#options.end();
		}
		switch (act.kind) {
			case "write":
				this.#options.onWrite(act.bytes);
				return program.write(act.bytes);
			case "eof":
				return program.eof();
			case "signal":
				return program.signal(act.signal);
			case "resize":
				program.resize(act.size);
				this.#options.onResized(act.size);
		}
	}
}
