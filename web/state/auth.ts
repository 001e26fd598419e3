/** Whether this browser is signed in, as which caller, on which server. */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import { type Client, HawserError, type Me } from "hawser/client";

type AuthState =
	/** Before the first response. */
	| { readonly kind: "unknown" }
	| { readonly kind: "signed-in"; readonly me: Me }
	/** `was` is the previous caller on this page. */
	| { readonly kind: "signed-out"; readonly was: "none" | "guest" | "user" }
	/** The server is unreachable. */
	| { readonly kind: "unreachable" };

/** Why signing in with a token failed. */
export type SignInProblem = "unknown" | "ended" | "away";

/** Each right includes those before it. */
const rights = ["read", "operate", "manage"] as const;
export type Right = (typeof rights)[number];

/** Delay before an unreachable server is asked again. */
const AGAIN_MS = 2_000;

export class Auth {
	readonly #client: Client;
	readonly #state = signal<AuthState>({ kind: "unknown" });
	readonly #isUpdated = signal(false);
	/** The server's version when this page was loaded, which is the page's own. */
	#version: string | undefined;

	constructor(client: Client) {
		this.#client = client;
	}

	get state(): ReadonlySignal<AuthState> {
		return this.#state;
	}

	/** Whether the server's version differs from this page's. */
	get isUpdated(): boolean {
		return this.#isUpdated.value;
	}

	/** Checks the version after a reconnect, because the server may have been upgraded. */
	async checkVersion(): Promise<void> {
		const found = await this.#ask();
		this.#isUpdated.value = found.kind === "signed-in" && found.me.server.version !== this.#version;
	}

	/** Finds out who is signed in. A guest key is ignored if the browser already has more rights. */
	async begin(guest: { readonly key: string } | undefined): Promise<void> {
		let found = await this.#ask();
		for (; found.kind === "unreachable"; found = await this.#ask()) {
			this.#state.value = found;
			await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
		}
		if (guest && (found.kind === "signed-out" || (found.kind === "signed-in" && found.me.guest))) {
			if ((await this.signIn({ token: guest.key })) === undefined) return;
			found = { kind: "signed-out", was: "guest" };
		}
		this.#state.value = found;
	}

	get isAdmin(): boolean {
		const state = this.#state.value;
		return state.kind === "signed-in" && state.me.admin;
	}

	/** Whether the caller is a guest, who sees only one session. */
	get isGuest(): boolean {
		const state = this.#state.value;
		return state.kind === "signed-in" && state.me.guest !== null;
	}

	/** Whether to offer what this right allows. The server enforces it. */
	may(right: Right, workspace: string): boolean {
		const state = this.#state.value;
		if (state.kind !== "signed-in") return false;
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
			return { kind: "signed-in", me };
		} catch (error) {
			return isSignedOut(error) ? this.#out() : { kind: "unreachable" };
		}
	}

	/** Resolves with the problem; undefined on success. */
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
		this.#state.value = { kind: "signed-out", was: "none" };
	}

	/** A request failed because the browser is no longer signed in. */
	onUnauthorized(): void {
		this.#state.value = this.#out();
	}

	#out(): AuthState {
		const before = this.#state.peek();
		if (before.kind !== "signed-in")
			return { kind: "signed-out", was: before.kind === "signed-out" ? before.was : "none" };
		return { kind: "signed-out", was: before.me.guest ? "guest" : "user" };
	}
}

export function isSignedOut(error: unknown): boolean {
	return error instanceof HawserError && (error.code === "unauthenticated" || error.code === "token_ended");
}
