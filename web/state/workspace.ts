/** Details of one workspace: members, limits, links and audit log. */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import { type AuditMessage, type Client, HawserError, type TokenMessage, type WorkspaceMessage } from "hawser/client";

export type WorkspaceDetails = {
	readonly id: string;
	/** Null if it was never created. */
	readonly declared: WorkspaceMessage | null;
	/** Tokens for this workspace that the caller may revoke. */
	readonly members: readonly TokenMessage[];
	/** Tokens for one session, in any workspace. */
	readonly links: readonly TokenMessage[];
	/** Newest first; undefined if the caller may not read them. */
	readonly audit: readonly AuditMessage[] | undefined;
};

type WorkspaceState =
	| { readonly kind: "loading" }
	| { readonly kind: "here"; readonly facts: WorkspaceDetails }
	| { readonly kind: "failed"; readonly message: string };

/** Newest audit entries searched for those of the workspace. */
const AUDIT_ENTRIES = 500;

export class WorkspacePage {
	readonly #client: Client;
	readonly #mayAudit: () => boolean;
	readonly #state = signal<WorkspaceState>({ kind: "loading" });
	#id: string | undefined;

	/** Only the operator may read the audit log. */
	constructor(client: Client, mayAudit: () => boolean) {
		this.#client = client;
		this.#mayAudit = mayAudit;
	}

	get state(): ReadonlySignal<WorkspaceState> {
		return this.#state;
	}

	/** Loads the details again. */
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

	async #facts(id: string): Promise<WorkspaceDetails> {
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

	/** A request beyond the last entry returns none, but reports the last number. */
	async #newestAudit(): Promise<AuditMessage[]> {
		const { head } = await this.#client.audit({ after: Number.MAX_SAFE_INTEGER, limit: 1 });
		const { entries } = await this.#client.audit({
			after: Math.max(0, head.seq - AUDIT_ENTRIES),
			limit: AUDIT_ENTRIES,
		});
		return entries.toReversed();
	}
}
