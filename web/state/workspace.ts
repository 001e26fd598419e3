/** What is known of one workspace: who may do what in it, what it may have, and what was done. */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import { type AuditMessage, type Client, HawserError, type TokenMessage, type WorkspaceMessage } from "hawser/client";

export type WorkspaceFacts = {
	readonly id: string;
	/** Null for one that was never declared. */
	readonly declared: WorkspaceMessage | null;
	/** Tokens that are for it, of those that the caller may revoke. */
	readonly members: readonly TokenMessage[];
	/** Tokens that are for one session, of any workspace. */
	readonly links: readonly TokenMessage[];
	/** The newest first; undefined where the caller may not see them. */
	readonly audit: readonly AuditMessage[] | undefined;
};

type WorkspaceState =
	| { readonly kind: "loading" }
	| { readonly kind: "here"; readonly facts: WorkspaceFacts }
	| { readonly kind: "failed"; readonly message: string };

/** How many of the newest entries of the audit are looked at for those of the workspace. */
const AUDIT_ENTRIES = 500;

export class WorkspacePage {
	readonly #client: Client;
	readonly #mayAudit: () => boolean;
	readonly #state = signal<WorkspaceState>({ kind: "loading" });
	#id: string | undefined;

	/** Only the operator may see who did what. */
	constructor(client: Client, mayAudit: () => boolean) {
		this.#client = client;
		this.#mayAudit = mayAudit;
	}

	get state(): ReadonlySignal<WorkspaceState> {
		return this.#state;
	}

	/** Asks for it anew. */
	async load(id: string): Promise<void> {
		if (id !== this.#id) this.#state.value = { kind: "loading" };
		this.#id = id;
		try {
			const facts = await this.#facts(id);
			if (id === this.#id) this.#state.value = { kind: "here", facts };
		} catch (error) {
			if (!(error instanceof HawserError)) throw error;
			if (id === this.#id) this.#state.value = { kind: "failed", message: error.message };
		}
	}

	async revoke(token: string, workspace: string): Promise<void> {
		await this.#client.tokens.revoke(token);
		await this.load(workspace);
	}

	async #facts(id: string): Promise<WorkspaceFacts> {
		const [workspaces, tokens, audit] = await Promise.all([
			this.#client.workspaces.list(),
			this.#client.tokens.list(),
			this.#mayAudit() ? this.#newestAudit() : undefined,
		]);
		return {
			id,
			declared: workspaces.find((workspace) => workspace.id === id) ?? null,
			members: tokens.filter(({ scopes }) => scopes.some((scope) => scope.startsWith(`workspace:${id}:`))),
			links: tokens.filter(({ scopes }) => scopes.some((scope) => scope.startsWith("session:"))),
			audit: audit?.filter(({ workspace }) => workspace === id),
		};
	}

	/** Whoever comes after the last has nothing to read, and is told which that was. */
	async #newestAudit(): Promise<AuditMessage[]> {
		const { head } = await this.#client.audit({ after: Number.MAX_SAFE_INTEGER, limit: 1 });
		const { entries } = await this.#client.audit({
			after: Math.max(0, head.seq - AUDIT_ENTRIES),
			limit: AUDIT_ENTRIES,
		});
		return entries.reverse();
	}
}
