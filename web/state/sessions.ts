/** All sessions and what is held of them as signals, and what is news of them. */

import { batch, type ReadonlySignal, signal } from "@preact/signals-core";
import {
	type ApprovalMessage,
	type Client,
	type Listed,
	type LiveConnection,
	LiveSessions,
	withAwaited,
} from "hawser/client";

/** What happened to a session just now, for those who tell people. */
export type News = { readonly kind: "waits" | "ended"; readonly session: Listed };

export class SessionList {
	readonly #live: LiveSessions;
	readonly #all = signal<ReadonlyMap<string, Listed>>(new Map());
	readonly #held = signal<readonly ApprovalMessage[]>([]);
	readonly #connection = signal<LiveConnection>({ kind: "loading" });
	readonly #listeners = new Set<(news: News) => void>();

	constructor(client: Client, onSignedOut: () => void) {
		this.#live = new LiveSessions(client, {
			onChange: () => this.#show(),
			onSession: (after, before) => this.#compare(after, before),
			onRefused: onSignedOut,
			onHeld: ({ session }) => this.#announce(session.id),
		});
	}

	get all(): ReadonlySignal<ReadonlyMap<string, Listed>> {
		return this.#all;
	}

	/** What waits to be approved, oldest first. */
	get held(): ReadonlySignal<readonly ApprovalMessage[]> {
		return this.#held;
	}

	get connection(): ReadonlySignal<LiveConnection> {
		return this.#connection;
	}

	/** Until the returned function is called. */
	onNews(listener: (news: News) => void): () => void {
		this.#listeners.add(listener);
		return () => this.#listeners.delete(listener);
	}

	/** Follows from now on; when it does already, it tries at once, which is what somebody wants who can't wait. */
	follow(): void {
		this.#live.follow();
	}

	stop(): void {
		this.#live.stop();
	}

	/** Somebody here has answered it, before the feed tells that it waits no more. */
	answered(id: string): void {
		this.#live.answered(id);
	}

	/** Somebody here has decided on it, before the feed tells. */
	decided(approval: string): void {
		this.#live.decided(approval);
	}

	/** A session that was just started, or was asked for by itself. */
	know(session: Listed): void {
		this.#live.know(session);
	}

	#show(): void {
		batch(() => {
			this.#all.value = this.#live.all;
			this.#held.value = this.#live.held;
			this.#connection.value = this.#live.connection;
		});
	}

	#compare(after: Listed, before: Listed | undefined): void {
		const waiting = after.overview?.waiting;
		if (waiting && waiting.offset !== before?.overview?.waiting?.offset) this.#tell({ kind: "waits", session: after });
		if (before?.state === "running" && after.state !== "running") this.#tell({ kind: "ended", session: after });
	}

	/** Something is held in it. */
	#announce(id: string): void {
		const session = withAwaited(this.#live.all, this.#live.held).find((one) => one.id === id);
		if (session) this.#tell({ kind: "waits", session });
	}

	#tell(news: News): void {
		for (const listener of this.#listeners) listener(news);
	}
}
