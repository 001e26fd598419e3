/** The state of the page for one secret request. */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import { type Client, HawserError, type SecretRequestMessage } from "hawser/client";

type SecretState =
	| { readonly kind: "loading" }
	| { readonly kind: "asked"; readonly request: SecretRequestMessage; readonly problem: string | undefined }
	| { readonly kind: "given" }
	| { readonly kind: "refused" }
	/** It was answered or refused, or the prompt changed. */
	| { readonly kind: "over" }
	| { readonly kind: "failed"; readonly message: string };

export class SecretPage {
	readonly #client: Client;
	readonly #state = signal<SecretState>({ kind: "loading" });

	constructor(client: Client) {
		this.#client = client;
	}

	get state(): ReadonlySignal<SecretState> {
		return this.#state;
	}

	async load(id: string): Promise<void> {
		this.#state.value = { kind: "loading" };
		await this.#try(async () => {
			const request = (await this.#client.secretRequests.list()).find((one) => one.id === id);
			return request ? { kind: "asked", request, problem: undefined } : { kind: "over" };
		});
	}

	/** Does not keep the text. */
	give({ id }: SecretRequestMessage, text: string): Promise<void> {
		return this.#try(async () => {
			await this.#client.secretRequests.give(id, text);
			return { kind: "given" };
		});
	}

	refuse({ id }: SecretRequestMessage): Promise<void> {
		return this.#try(async () => {
			await this.#client.secretRequests.refuse(id);
			return { kind: "refused" };
		});
	}

	async #try(act: () => Promise<SecretState>): Promise<void> {
		const before = this.#state.peek();
		try {
			this.#state.value = await act();
		} catch (error) {
			if (!(error instanceof HawserError)) throw error;
			const { code, message } = error;
			if (code === "not_found" || code === "not_waiting") this.#state.value = { kind: "over" };
			else if (before.kind === "asked") this.#state.value = { ...before, problem: message };
			else this.#state.value = { kind: "failed", message };
		}
	}
}
