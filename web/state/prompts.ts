/** Prompts for the agent of one session: sending, and the queue of those that wait until it is idle. */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import { HawserError, type QueuedPrompt, type Session } from "hawser/client";

export type PromptOutcome =
	| { readonly kind: "sending" }
	| { readonly kind: "sent" }
	| { readonly kind: "failed"; readonly message: string };

/** How long an outcome is shown. An error takes longer to read. */
const SHOWN_MS = { sent: 4_000, failed: 8_000 } as const;

export class Prompts {
	readonly #session: Session;
	readonly #queued = signal<readonly QueuedPrompt[]>([]);
	readonly #outcome = signal<PromptOutcome | undefined>(undefined);
	#isLoading = false;
	#isStale = false;

	constructor(session: Session) {
		this.#session = session;
	}

	/** Oldest first. */
	get queued(): ReadonlySignal<readonly QueuedPrompt[]> {
		return this.#queued;
	}

	/** The outcome of the last prompt or cancellation. */
	get outcome(): ReadonlySignal<PromptOutcome | undefined> {
		return this.#outcome;
	}

	/** Lists the queue. One request at a time; a call during a request causes another one. */
	async load(): Promise<void> {
		this.#isStale = true;
		if (this.#isLoading) return;
		this.#isLoading = true;
		try {
			while (this.#isStale) {
				this.#isStale = false;
				this.#queued.value = await this.#session.prompts();
			}
		} catch (error) {
			// The next change of the session causes another attempt.
			if (!(error instanceof HawserError)) throw error;
		} finally {
			this.#isLoading = false;
		}
	}

	/** Resolves with whether the prompt was submitted or queued. Ignored while another one is being sent. */
	async send(text: string, { whenIdle }: { readonly whenIdle: boolean }): Promise<boolean> {
		if (text.trim() === "" || this.#outcome.peek()?.kind === "sending") return false;
		this.#outcome.value = { kind: "sending" };
		try {
			const { queued } = await this.#session.prompt(text, { whenIdle });
			// A queued prompt is seen in the queue.
			if (queued) this.#outcome.value = undefined;
			else this.#show({ kind: "sent" });
			return true;
		} catch (error) {
			this.#fail(error);
			return false;
		} finally {
			void this.load();
		}
	}

	async cancel({ id }: QueuedPrompt): Promise<void> {
		try {
			await this.#session.cancelPrompt(id);
		} catch (error) {
			this.#fail(error);
		} finally {
			void this.load();
		}
	}

	#fail(error: unknown): void {
		if (!(error instanceof HawserError)) throw error;
		this.#show({ kind: "failed", message: error.message });
	}

	#show(outcome: Exclude<PromptOutcome, { kind: "sending" }>): void {
		this.#outcome.value = outcome;
		setTimeout(() => {
			if (this.#outcome.peek() === outcome) this.#outcome.value = undefined;
		}, SHOWN_MS[outcome.kind]);
	}
}
