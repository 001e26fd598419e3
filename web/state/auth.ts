/** Whether this browser is signed in, as whom, and where. */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import { type Client, HawserError, type Me } from "hawser/client";

type AuthState =
	/** The server was not asked yet. */
	| { readonly kind: "unknown" }
	| { readonly kind: "in"; readonly me: Me }
	/** Who was here before, and is not any more. */
	| { readonly kind: "out"; readonly was: "nobody" | "guest" | "somebody" }
	/** It can't be reached. */
	| { readonly kind: "away" };

/** Why a token did not sign in. */
export type SignInProblem = "unknown" | "ended" | "away";

/** Each has those before it. */
const rights = ["read", "operate", "manage"] as const;
export type Right = (typeof rights)[number];

/** Before a server that is away is asked again. */
const AGAIN_MS = 2_000;

export class Auth {
	readonly #client: Client;
	readonly #state = signal<AuthState>({ kind: "unknown" });
	readonly #isUpdated = signal(false);
	/** Of the server when this page was loaded, which is the page's own. */
	#version: string | undefined;

	constructor(client: Client) {
		this.#client = client;
	}

	get state(): ReadonlySignal<AuthState> {
		return this.#state;
	}

	/** Whether the server is another version than this page by now. */
	get isUpdated(): boolean {
		return this.#isUpdated.value;
	}

	/** The server was away: it may have been replaced meanwhile. Whether we are still signed in, others find out. */
	async lookAtVersion(): Promise<void> {
		const found = await this.#ask();
		this.#isUpdated.value = found.kind === "in" && found.me.server.version !== this.#version;
	}

	/** Finds out who we are. A guest's key is for one session, and not used by who is more than a guest already. */
	async begin(guest: { readonly key: string } | undefined): Promise<void> {
		let found = await this.#ask();
		for (; found.kind === "away"; found = await this.#ask()) {
			this.#state.value = found;
			await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
		}
		if (guest && (found.kind === "out" || (found.kind === "in" && found.me.guest))) {
			if ((await this.signIn({ token: guest.key })) === undefined) return;
			found = { kind: "out", was: "guest" };
		}
		this.#state.value = found;
	}

	get isAdmin(): boolean {
		const state = this.#state.value;
		return state.kind === "in" && state.me.admin;
	}

	/** Whether the caller has been given one session by a link, and sees nothing else. */
	get isGuest(): boolean {
		const state = this.#state.value;
		return state.kind === "in" && state.me.guest !== null;
	}

	/** Whether the caller has a right in a workspace; the server decides, and what it would refuse need not be offered. */
	may(right: Right, workspace: string): boolean {
		const state = this.#state.value;
		if (state.kind !== "in") return false;
		const { admin, guest, workspaces } = state.me;
		if (admin) return true;
		if (guest) return right === "read" || (right === "operate" && guest.right === "control");
		const found = workspaces.find(({ id }) => id === workspace);
		return found !== undefined && rights.indexOf(found.right) >= rights.indexOf(right);
	}

	async #ask(): Promise<AuthState> {
		try {
			const me = await this.#client.me();
			this.#version ??= me.server.version;
			return { kind: "in", me };
		} catch (error) {
			return isSignedOut(error) ? this.#out() : { kind: "away" };
		}
	}

	/** Undefined when it did. */
	async signIn(credential: { readonly token: string }): Promise<SignInProblem | undefined> {
		try {
			await this.#client.signIn(credential);
		} catch (error) {
			if (!(error instanceof HawserError)) throw error;
			if (error.code === "token_ended") return "ended";
			return error.code === "node_unavailable" ? "away" : "unknown";
		}
		this.#state.value = await this.#ask();
		return undefined;
	}

	async signOut(): Promise<void> {
		await this.#client.signOut();
		this.#state.value = { kind: "out", was: "nobody" };
	}

	/** Something that we asked for was refused because nobody is signed in any more. */
	wasRefused(): void {
		this.#state.value = this.#out();
	}

	#out(): AuthState {
		const before = this.#state.peek();
		if (before.kind !== "in") return { kind: "out", was: before.kind === "out" ? before.was : "nobody" };
		return { kind: "out", was: before.me.guest ? "guest" : "somebody" };
	}
}

export function isSignedOut(error: unknown): boolean {
	return error instanceof HawserError && (error.code === "unauthenticated" || error.code === "token_ended");
}
