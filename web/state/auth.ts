/** Whether this browser is signed in, as whom, and where. */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import { type Client, HawserError } from "hawser/client";

export type AuthState =
	/** The server was not asked yet. */
	| { readonly kind: "unknown" }
	| { readonly kind: "in" }
	/** `was` says that it was signed in when this page was opened. */
	| { readonly kind: "out"; readonly was: boolean }
	/** It can't be reached. */
	| { readonly kind: "away" };

/** Why a token did not sign in. */
export type SignInProblem = "unknown" | "ended" | "away";

export class Auth {
	readonly #client: Client;
	readonly #state = signal<AuthState>({ kind: "unknown" });

	constructor(client: Client) {
		this.#client = client;
	}

	get state(): ReadonlySignal<AuthState> {
		return this.#state;
	}

	/** Asks the server who we are. */
	async check(): Promise<void> {
		try {
			await this.#client.info();
			this.#state.value = { kind: "in" };
		} catch (error) {
			this.#state.value = isSignedOut(error) ? this.#out() : { kind: "away" };
		}
	}

	/** Undefined when it did. */
	async signIn(_credential: { readonly token: string }): Promise<SignInProblem | undefined> {
		// The server signs in by links only, as yet.
		return "unknown";
	}

	async signOut(): Promise<void> {
		await this.#client.signOut();
		this.#state.value = { kind: "out", was: false };
	}

	/** Something that we asked for was refused because nobody is signed in any more. */
	wasRefused(): void {
		this.#state.value = this.#out();
	}

	#out(): AuthState {
		return { kind: "out", was: this.#state.peek().kind === "in" };
	}
}

export function isSignedOut(error: unknown): boolean {
	return error instanceof HawserError && error.code === "unauthenticated";
}
