/** All sessions as signals, and what is news of them. */

import { batch, type ReadonlySignal, signal } from "@preact/signals-core";
import { type Client, type Listed, type LiveConnection, LiveSessions } from "hawser/client";

/** What happened to a session just now, for those who tell people. */
export type News = { readonly kind: "waits" | "ended"; readonly session: Listed };

export class SessionList {
	readonly #live: LiveSessions;
	readonly #all = signal<ReadonlyMap<string, Listed>>(new Map());
	readonly #connection = signal<LiveConnection>({ kind: "loading" });
	readonly #listeners = new Set<(news: News) => void>();

	/** `onApprovals` hears when what waits to be approved may be otherwise. */
	constructor(client: Client, onSignedOut: () => void, onApprovals: () => void) {
		this.#live = new LiveSessions(client, {
			onChange: () => this.#show(),
			onSession: (after, before) => this.#compare(after, before),
			onRefused: onSignedOut,
			onApprovals,
		});
	}

	get all(): ReadonlySignal<ReadonlyMap<string, Listed>> {
		return this.#all;
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

	/** A session that was just started, or was asked for by itself. */
	know(session: Listed): void {
		this.#live.know(session);
	}

	#show(): void {
		batch(() => {
			this.#all.value = this.#live.all;
			this.#connection.value = this.#live.connection;
		});
	}

	#compare(after: Listed, before: Listed | undefined): void {
		const waiting = after.overview?.waiting;
		if (waiting && waiting.offset !== before?.overview?.waiting?.offset) this.#tell({ kind: "waits", session: after });
		if (before?.state === "running" && after.state !== "running") this.#tell({ kind: "ended", session: after });
	}

	#tell(news: News): void {
		for (const listener of this.#listeners) listener(news);
	}
}
