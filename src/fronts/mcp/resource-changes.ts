/** Sends change notifications for resources while a client's subscription request is open. */

import type { ServerEvent, ServerEventBus } from "@modelcontextprotocol/server";
import Type from "typebox";
import { Compile } from "typebox/compile";
import { SessionError } from "../../core/errors.ts";
import { isWaitingForInput } from "../../core/inspect/inspection.ts";
import type { Session } from "../../core/session/session.ts";
import type { Call } from "./call.ts";
import { LIST, viewOf } from "./resources.ts";

/**
 * Minimum interval between notifications of one resource, in milliseconds, so that the client can read it in between.
 * @limit notifications of one resource | one in % | the last change is always notified
 */
const UPDATE_MS = 1_000;
/**
 * More than any client can show.
 * @limit resources that one request subscribes to | `limit_exceeded`
 */
const MOST_RESOURCES = 64;

/** The resources a client subscribes to. */
export type WantedResources = { readonly uris: readonly string[]; readonly list: boolean };

const listenMessage = Compile(
	Type.Object({
		method: Type.Literal("subscriptions/listen"),
		params: Type.Object({
			notifications: Type.Object({
				resourceSubscriptions: Type.Optional(Type.Array(Type.String())),
				resourcesListChanged: Type.Optional(Type.Boolean()),
			}),
		}),
	}),
);

/** Undefined for any other message. */
export function wantedBy(message: unknown): WantedResources | undefined {
	if (!listenMessage.Check(message)) return undefined;
	const { resourceSubscriptions = [], resourcesListChanged = false } = message.params.notifications;
	const uris = [...new Set(resourceSubscriptions)];
	if (uris.length <= MOST_RESOURCES) return { uris, list: resourcesListChanged };
	throw new SessionError("limit_exceeded", `too many resources: ${uris.length} (limit ${MOST_RESOURCES})`, {
		hint: "subscribe to fewer, or use several requests",
	});
}

type Watched = { readonly uri: string; readonly watch: Watch };
/** Calls `notify` for every change since the subscription was opened. */
type Watch = (notify: () => void, signal: AbortSignal) => Promise<void>;

/**
 * The SDK's source of change events. It watches only what this client subscribed to, and only while the client listens.
 */
export class ResourceChanges implements ServerEventBus {
	readonly #wanted: WantedResources;
	readonly #call: Call;
	readonly #watched: readonly Watched[];
	readonly #onFailure: (error: unknown) => void;

	private constructor(
		wanted: WantedResources,
		call: Call,
		watched: readonly Watched[],
		onFailure: (error: unknown) => void,
	) {
		this.#wanted = wanted;
		this.#call = call;
		this.#watched = watched;
		this.#onFailure = onFailure;
	}

	/**
	 * Rejects resources that the caller may not read. The current state is read before the subscription is confirmed, so
	 * that no later change is missed.
	 */
	static async open(
		wanted: WantedResources,
		call: Call,
		onFailure: (error: unknown) => void,
	): Promise<ResourceChanges> {
		const views = wanted.uris.filter((uri) => uri !== LIST).map((uri) => ({ uri, ...viewOf(uri, call) }));
		for (const { session } of views) call.beginReading(session);
		const watched = views.map(async ({ uri, session, view }) => {
			return { uri, watch: view === "state" ? await stateWatch(session) : await outputWatch(session) };
		});
		return new ResourceChanges(wanted, call, await Promise.all(watched), onFailure);
	}

	publish(): void {
		// Events come only from this class.
	}

	subscribe(listener: (event: ServerEvent) => void): () => void {
		const over = new AbortController();
		const signal = AbortSignal.any([over.signal, this.#call.signal]);
		// The client left while the sessions were being read.
		if (signal.aborted) return () => {};
		const { uris, list } = this.#wanted;
		if (uris.includes(LIST) || list) {
			const notifyChange = paced(() => listener({ kind: "resource_updated", uri: LIST }), signal);
			const notifyList = paced(() => listener({ kind: "resources_list_changed" }), signal);
			const unwatch = this.#call.watch(() => {
				notifyChange();
				notifyList();
			});
			signal.addEventListener("abort", unwatch, { once: true });
		}
		for (const { uri, watch } of this.#watched) {
			const notify = paced(() => listener({ kind: "resource_updated", uri }), signal);
			watch(notify, signal).catch((error: unknown) => signal.aborted || this.#onFailure(error));
		}
		return () => over.abort();
	}
}

/** Limits calls of `notify`: the first runs at once, later ones at an interval; the last change is always notified. */
function paced(notify: () => void, signal: AbortSignal): () => void {
	let notifiedAt = Number.NEGATIVE_INFINITY;
	let timer: NodeJS.Timeout | undefined;
	signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
	return () => {
		if (timer !== undefined || signal.aborted) return;
		const dueMs = Math.max(0, notifiedAt + UPDATE_MS - performance.now());
		timer = setTimeout(() => {
			timer = undefined;
			notifiedAt = performance.now();
			notify();
		}, dueMs);
	};
}

/** Every event appended to the log may change the output and the screen. */
async function outputWatch(session: Session): Promise<Watch> {
	const end = await session.end();
	return async (notify, signal) => {
		for await (const _ of session.follow(end, { signal, flow: "live" })) notify();
	};
}

/** Notifies when the program starts a new wait for input, and when it ends. */
async function stateWatch(session: Session): Promise<Watch> {
	const known = (await session.inspect()).episode;
	return async (notify, signal) => {
		for (let episode = known; ; ) {
			const found = await session.untilWaiting(episode, signal);
			if (signal.aborted) return;
			notify();
			if (!isWaitingForInput(found)) return;
			episode = found.episode;
		}
	};
}
