/** Answers to what programs ask, given from a list: each is sent once, and only if the program still asks the same. */

import { signal } from "@preact/signals-core";
import { type Client, giveAnswer, HawserError, type Listed, type Need } from "hawser/client";

export type Answer =
	| { readonly kind: "sending" }
	/** `text` is undefined for a secret. */
	| { readonly kind: "taken"; readonly text: string | undefined; readonly at: number; readonly session: Listed }
	/** It asked something else by then, and got nothing. */
	| { readonly kind: "late" }
	| { readonly kind: "failed"; readonly message: string };

/** How long a row says what became of its answer. */
const SHOWN_MS = 4_000;

export class Answers {
	readonly #client: Client;
	readonly #taken: (id: string) => void;
	/** By session. */
	readonly #all = signal<ReadonlyMap<string, Answer>>(new Map());

	/** `taken` hears whose question is answered. */
	constructor(client: Client, taken: (id: string) => void) {
		this.#client = client;
		this.#taken = taken;
	}

	/** What became of the last answer to a session, as that is now and needs somebody: nothing once it needs something else. */
	of({ id, overview }: Listed, need: Need | undefined): Answer | undefined {
		const answer = this.#all.value.get(id);
		if (answer?.kind !== "taken" || !need) return answer;
		return overview?.waiting?.offset === answer.session.overview?.waiting?.offset ? answer : undefined;
	}

	/** Nothing, if one is on its way: two clicks are one answer. */
	async give(session: Listed, text: string): Promise<void> {
		const { id, overview } = session;
		const waiting = overview?.waiting;
		if (!waiting || this.#all.peek().get(id)?.kind === "sending") return;
		this.#set(id, { kind: "sending" });
		try {
			const isTaken = await giveAnswer(this.#client.sessions.at(id), { mode: session.mode, waiting }, text);
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
