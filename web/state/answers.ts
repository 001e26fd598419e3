/** Answers to prompts and dialogs. Each is sent once, and only if the program still shows what was answered. */

import { signal } from "@preact/signals-core";
import {
	answerDialog,
	answerPrompt,
	type Client,
	type DialogAnswer,
	HawserError,
	type Need,
	type SessionInfo,
} from "hawser/client";

/** With the session as it was when it was answered. */
export type Answer = { readonly session: SessionInfo } & (
	| { readonly kind: "sending" }
	/** `text` is undefined for a secret. */
	| { readonly kind: "taken"; readonly text: string | undefined; readonly at: number }
	/** The prompt had changed, so nothing was sent. */
	| { readonly kind: "late" }
	| { readonly kind: "failed"; readonly message: string }
);

/** How long a row shows the result of its answer. An error takes longer to read. */
const SHOWN_MS = { taken: 4_000, late: 6_000, failed: 8_000 } as const;

/** Called when a session was answered, before the feed reports that. */
export type AnswersOptions = {
	readonly onPrompt: (id: string) => void;
	readonly onDialog: (id: string, episode: number) => void;
};

export class Answers {
	readonly #client: Client;
	readonly #options: AnswersOptions;
	/** By session ID. */
	readonly #all = signal<ReadonlyMap<string, Answer>>(new Map());

	constructor(client: Client, options: AnswersOptions) {
		this.#client = client;
		this.#options = options;
	}

	/** The result of the last answer to a session, while the session's need is the same. */
	of(session: SessionInfo, need: Need | undefined): Answer | undefined {
		const answer = this.#all.value.get(session.id);
		if (answer?.kind !== "taken" || !need) return answer;
		return askedBy(session) === askedBy(answer.session) ? answer : undefined;
	}

	/** Ignored while another answer is in flight: a double click is one answer. */
	async give(session: SessionInfo, text: string): Promise<void> {
		const waiting = session.overview?.waiting;
		if (!waiting) return;
		const shown = waiting.kind === "secret" ? undefined : text;
		await this.#send(session, shown, async () => {
			const target = this.#client.sessions.at(session.id);
			const isTaken = await answerPrompt(target, { mode: session.mode, waiting }, text);
			if (isTaken) this.#options.onPrompt(session.id);
			return isTaken;
		});
	}

	/** Answers the dialog of the session's agent; `label` is the chosen one, or the text. */
	async choose(session: SessionInfo, answer: DialogAnswer, label: string): Promise<void> {
		const { id, overview } = session;
		const agent = overview?.agent;
		if (agent?.state !== "blocked") return;
		await this.#send(session, label, async () => {
			const isTaken = await answerDialog(this.#client.sessions.at(id), agent, answer);
			if (isTaken) this.#options.onDialog(id, agent.episode);
			return isTaken;
		});
	}

	async #send(session: SessionInfo, text: string | undefined, send: () => Promise<boolean>): Promise<void> {
		if (this.#all.peek().get(session.id)?.kind === "sending") return;
		this.#set(session.id, { kind: "sending", session });
		try {
			this.#show((await send()) ? { kind: "taken", text, at: Date.now(), session } : { kind: "late", session });
		} catch (error) {
			if (!(error instanceof HawserError)) throw error;
			this.#show({ kind: "failed", message: error.message, session });
		}
	}

	#show(answer: Exclude<Answer, { kind: "sending" }>): void {
		const { id } = answer.session;
		this.#set(id, answer);
		setTimeout(() => {
			if (this.#all.peek().get(id) === answer) this.#set(id, undefined);
		}, SHOWN_MS[answer.kind]);
	}

	#set(id: string, answer: Answer | undefined): void {
		const all = new Map(this.#all.peek());
		if (answer) all.set(id, answer);
		else all.delete(id);
		this.#all.value = all;
	}
}

/** Identifies the dialog, or else the prompt. */
function askedBy({ overview }: SessionInfo): string {
	const { agent, waiting } = overview ?? {};
	return agent ? `dialog ${agent.episode}` : `prompt ${waiting?.offset}`;
}
