/** Answers to prompts, given from a list. Each is sent once, and only if the program still shows the prompt. */

import { signal } from "@preact/signals-core";
import { answerPrompt, type Client, HawserError, type Need, type SessionInfo } from "hawser/client";

export type Answer =
	| { readonly kind: "sending" }
	/** `text` is undefined for a secret. */
	| { readonly kind: "taken"; readonly text: string | undefined; readonly at: number; readonly session: SessionInfo }
	/** The prompt had changed, so nothing was sent. */
	| { readonly kind: "late" }
	| { readonly kind: "failed"; readonly message: string };

/** How long a row shows the result of its answer. */
const SHOWN_MS = 4_000;

export class Answers {
	readonly #client: Client;
	readonly #taken: (id: string) => void;
	/** By session ID. */
	readonly #all = signal<ReadonlyMap<string, Answer>>(new Map());

	/** `taken` is called with the ID of an answered session. */
	constructor(client: Client, taken: (id: string) => void) {
		this.#client = client;
		this.#taken = taken;
	}

	/** The result of the last answer to a session, while the session's need is the same. */
	of({ id, overview }: SessionInfo, need: Need | undefined): Answer | undefined {
		const answer = this.#all.value.get(id);
		if (answer?.kind !== "taken" || !need) return answer;
		return overview?.waiting?.offset === answer.session.overview?.waiting?.offset ? answer : undefined;
	}

	/** Ignored while another answer is in flight: a double click is one answer. */
	async give(session: SessionInfo, text: string): Promise<void> {
		const { id, overview } = session;
		const waiting = overview?.waiting;
		if (!waiting || this.#all.peek().get(id)?.kind === "sending") return;
		this.#set(id, { kind: "sending" });
		try {
			const isTaken = await answerPrompt(this.#client.sessions.at(id), { mode: session.mode, waiting }, text);
			if (!isTaken) return this.#show(id, { kind: "late" });
			const shown = waiting.kind === "secret" ? undefined : text;
			this.#show(id, { kind: "taken", text: shown, at: Date.now(), session });
			this.#taken(id);
		} catch (error) {
			if (!(error instanceof HawserError)) throw error;
			this.#show(id, { kind: "failed", message: error.message });
		}
	}

	#show(id: string, answer: Answer): void {
		this.#set(id, answer);
		setTimeout(() => {
			if (this.#all.peek().get(id) === answer) this.#set(id, undefined);
		}, SHOWN_MS);
	}

	#set(id: string, answer: Answer | undefined): void {
		const all = new Map(this.#all.peek());
		if (answer) all.set(id, answer);
		else all.delete(id);
		this.#all.value = all;
	}
}
