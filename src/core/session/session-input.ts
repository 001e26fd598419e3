/** Session input: checks the lease and the prompt, and applies each action once. */

import type { Size } from "../../words/state.ts";
import type { Clock } from "../async/clock.ts";
import { SessionError } from "../errors.ts";
import type { Action, ActOptions, PromptIdentity, Receipt, StreamPosition } from "../input/action.ts";
import { startsNewWait } from "../input/action.ts";
import { InputQueue, streamMoved, unitsOf } from "../input/input-queue.ts";
import { type Inspection, isSecretRead, isWaitingForInput } from "../inspect/inspection.ts";
import type { Process } from "../process/process.ts";
import { alreadyAnsweredError, notRead, secretLine } from "../secrets/secret-line.ts";
import type { WriterLease } from "./lease.ts";

/** Input stream of the session's own terminal replies. */
const REPLIES_STREAM = "hawser:replies";
/**
 * How long a secret waits for a program that has prompted but does not read yet.
 * @limit a secret for a program that does not read yet | `not_waiting`, and nothing is typed
 */
const SECRET_READ_MS = 1_000;
/** ^C. */
const INTERRUPT: Uint8Array = Uint8Array.of(0x03);

type SessionInputOptions = {
	readonly clock: Clock;
	readonly lease: WriterLease;
	/** Undefined while no program takes input. */
	readonly program: () => Process | undefined;
	/** The end of the output. */
	readonly end: () => number;
	readonly inspect: () => Promise<Inspection>;
	/** Resolves when the program waits in a later episode, has ended, or the signal aborts. */
	readonly untilWaiting: (after: number, signal: AbortSignal) => Promise<Inspection>;
	/** Called just before a secret is written. It must be masked from then on. */
	readonly mask: (secret: Uint8Array) => void;
	/** Called for new input other than a resize. */
	readonly onActivity: () => void;
	/** Called before an action is performed. */
	readonly onPerform: (action: Action) => void;
	/** Throws if the session may not have this size. */
	readonly checkResize: (size: Size) => void;
	readonly onResized: (size: Size) => void;
	readonly onFailure: ((error: unknown) => void) | undefined;
};

export class SessionInput {
	readonly #options: SessionInputOptions;
	readonly queue: InputQueue;
	/** Number of lines, signals and ends of input so far, and the end of the output at the last one. */
	#turns = 0;
	#turnedAt: number | undefined;

	constructor(options: SessionInputOptions) {
		this.#options = options;
		const { clock, onFailure } = options;
		this.queue = new InputQueue({ perform: (action) => this.#perform(action), clock, onFailure });
	}

	get turns(): number {
		return this.#turns;
	}

	accept(action: Action, { fence, origin, exact }: ActOptions): Receipt {
		if (action.kind === "resize") this.#options.checkResize(action.size);
		this.#options.lease.check(fence);
		const before = this.queue.accepted;
		const receipt = this.queue.accept(action, origin, { exact, from: this.#options.end() });
		// Neither repeats nor resizes count: clients send their size whenever they reconnect, even unattended ones.
		const accepted = this.queue.accepted - before;
		if (accepted > 0 && action.kind !== "resize") this.#options.onActivity();
		return { ...receipt, accepted };
	}

	async acceptIfWaiting(action: Action, at: number, options: ActOptions): Promise<Receipt> {
		if (!this.#isRepeat(action, options.origin)) await this.#checkWaiting({ at });
		return this.accept(action, options);
	}

	/**
	 * Types a secret only while a process reads it. Otherwise the bytes would go to the next reader, such as a shell that
	 * runs them and keeps them in its history. Echo is checked again in the same turn in which the kernel takes the
	 * bytes. After that the bytes exist only in the masks.
	 */
	async acceptSecret(value: Uint8Array, question: PromptIdentity, options: ActOptions): Promise<Receipt> {
		const action = { kind: "write", bytes: secretLine(value) } as const;
		let upTo = 0;
		try {
			if (this.#isRepeat(action, options.origin)) return this.accept(action, options);
			const { at, episode } = question;
			const isPinned = at !== undefined || episode !== undefined;
			if (!isPinned) await this.#untilSecretRead();
			const found = await this.#checkWaiting(question);
			// Without echo, neither the input nor a new prompt may have moved the end of the output.
			if (at !== undefined && at === this.#turnedAt && episode === undefined) throw alreadyAnsweredError();
			this.#checkHidden();
			checkSecretRead(found);
			this.#options.mask(value);
			const receipt = this.accept(action, options);
			upTo = this.queue.accepted;
			return receipt;
		} finally {
			value.fill(0);
			// The kernel takes the bytes a moment later.
			void this.queue.taken(upTo).then(() => action.bytes.fill(0));
		}
	}

	/** Types a whole command or nothing. A command without its beginning would be another one. */
	acceptCommand(bytes: Uint8Array, options: ActOptions): Receipt {
		const { origin } = options;
		const from = origin?.position ?? 0;
		const receipt = this.accept({ kind: "write", bytes }, { ...options, exact: { from, isWhole: true } });
		// Other input has used its position.
		if (receipt.accepted === 0) throw streamMoved(origin, receipt.next, from);
		return receipt;
	}

	/** Types a terminal reply regardless of the lease: the terminal sends it, not a client. */
	reply(text: string): void {
		const { next: position } = this.queue.receipt(REPLIES_STREAM);
		const bytes = new TextEncoder().encode(text);
		this.queue.accept({ kind: "write", bytes }, { stream: REPLIES_STREAM, position });
		this.#options.onActivity();
	}

	/** Types a key that queries our shell hooks, regardless of the lease. */
	ask(key: Uint8Array): void {
		this.queue.accept({ kind: "write", bytes: key });
	}

	interrupt(): void {
		this.queue.accept({ kind: "write", bytes: INTERRUPT });
	}

	/** Waits for a program that has prompted and is about to read. Fails at once if the terminal echoes. */
	async #untilSecretRead(): Promise<void> {
		this.#checkHidden();
		const late = new AbortController();
		const cancel = this.#options.clock.after(SECRET_READ_MS, () => late.abort());
		const found = await this.#options.untilWaiting(0, late.signal).finally(cancel);
		this.#checkHidden();
		checkSecretRead(found);
	}

	#checkHidden(): void {
		const terminal = this.#options.program()?.terminal();
		if (!terminal) throw notRead("it has no terminal, or has ended");
		if (terminal.echo) throw notRead("its terminal echoes input");
		if (this.queue.isWaiting) throw notRead("it has not read earlier input");
	}

	/**
	 * After the inspection all earlier output is in the log, and nothing is awaited until the write. Input accepted in
	 * the meantime may have been the answer, and is what the program reads next.
	 */
	async #checkWaiting({ at, episode }: PromptIdentity): Promise<Inspection> {
		const before = this.queue.accepted;
		const found = await this.#options.inspect();
		const end = this.#options.end();
		const isSame = isWaitingForInput(found) && found.offset === end && (at ?? end) === end;
		if (isSame && found.episode === (episode ?? found.episode) && this.queue.accepted === before) return found;
		throw new SessionError("not_waiting", "the program no longer waits for this answer", {
			hint: "inspect the session again",
		});
	}

	#isRepeat(action: Action, origin: StreamPosition | undefined): boolean {
		return origin !== undefined && origin.position + unitsOf(action) <= this.queue.receipt(origin.stream).next;
	}

	#perform(action: Action): Promise<void> | void {
		const program = this.#options.program();
		if (!program) throw new SessionError("session_closed", "the program has ended");
		if (startsNewWait(action)) {
			this.#turns++;
			this.#turnedAt = this.#options.end();
		}
		this.#options.onPerform(action);
		switch (action.kind) {
			case "write":
				return program.write(action.bytes);
			case "eof":
				return program.eof();
			case "signal":
				return program.signal(action.signal);
			case "resize":
				program.resize(action.size);
				this.#options.onResized(action.size);
		}
	}
}

function checkSecretRead(found: Inspection): void {
	if (isSecretRead(found)) return;
	throw notRead(isWaitingForInput(found) ? "it waits for something else" : "no process reads the terminal");
}
