/** All sessions and held actions as signals, and events for notifications. */

import { batch, type ReadonlySignal, signal } from "@preact/signals-core";
import {
	type AgentMessage,
	type ApprovalMessage,
	type Client,
	type LiveConnection,
	LiveSessions,
	type SessionInfo,
	withPendingStarts,
} from "hawser/client";

/** A session started to wait for input, or ended. */
export type SessionChange = { readonly kind: "waits" | "ended"; readonly session: SessionInfo };

export class SessionList {
	readonly #live: LiveSessions;
	readonly #all = signal<ReadonlyMap<string, SessionInfo>>(new Map());
	readonly #held = signal<readonly ApprovalMessage[]>([]);
	readonly #connection = signal<LiveConnection>({ kind: "loading" });
	readonly #listeners = new Set<(change: SessionChange) => void>();

	constructor(client: Client, onSignedOut: () => void) {
		this.#live = new LiveSessions(client, {
			onChange: () => this.#show(),
			onSession: (after, before) => this.#compare(after, before),
			onRefused: onSignedOut,
			onApproval: ({ session }) => this.#announce(session.id),
		});
	}

	get all(): ReadonlySignal<ReadonlyMap<string, SessionInfo>> {
		return this.#all;
	}

	/** Held actions, oldest first. */
	get held(): ReadonlySignal<readonly ApprovalMessage[]> {
		return this.#held;
	}

	get connection(): ReadonlySignal<LiveConnection> {
		return this.#connection;
	}

	/** Returns a function that removes the listener. */
	onChange(listener: (change: SessionChange) => void): () => void {
		this.#listeners.add(listener);
		return () => this.#listeners.delete(listener);
	}

	/** Starts to follow; if already following, reconnects at once. */
	follow(): void {
		this.#live.follow();
	}

	stop(): void {
		this.#live.stop();
	}

	/** Records an answer given on this page, before the feed reports it. */
	answered(id: string): void {
		this.#live.markAnswered(id);
	}

	/** The same for the dialog of an agent. */
	dialogAnswered(id: string, episode: number): void {
		this.#live.markDialogAnswered(id, episode);
	}

	/** Records a decision made on this page, before the feed reports it. */
	decided(approval: string): void {
		this.#live.removeApproval(approval);
	}

	/** Adds a session that was just started or requested. */
	know(session: SessionInfo): void {
		this.#live.upsert(session);
	}

	#show(): void {
		batch(() => {
			this.#all.value = this.#live.all;
			this.#held.value = this.#live.held;
			this.#connection.value = this.#live.connection;
		});
	}

	#compare(after: SessionInfo, before: SessionInfo | undefined): void {
		const { agent, waiting } = after.overview ?? {};
		const known = before?.overview;
		const isNew = agent ? isNewDialog(agent, known?.agent) : waiting && waiting.offset !== known?.waiting?.offset;
		if (isNew) this.#emit({ kind: "waits", session: after });
		if (before?.state === "running" && after.state !== "running") this.#emit({ kind: "ended", session: after });
	}

	/** Reports a held action as a need. */
	#announce(id: string): void {
		const session = withPendingStarts(this.#live.all, this.#live.held).find((one) => one.id === id);
		if (session) this.#emit({ kind: "waits", session });
	}

	#emit(change: SessionChange): void {
		for (const listener of this.#listeners) listener(change);
	}
}

function isNewDialog({ state, episode }: AgentMessage, before: AgentMessage | null | undefined): boolean {
	return state === "blocked" && (before?.state !== "blocked" || before.episode !== episode);
}
