/** Changes of resources, told to a client that listens for them, for as long as its request is under way. */

import type { ServerEvent, ServerEventBus } from "@modelcontextprotocol/server";
import Type from "typebox";
import { Compile } from "typebox/compile";
import { SessionError } from "../../core/errors.ts";
import { isWaiting } from "../../core/inspection.ts";
import type { Session } from "../../core/session.ts";
import type { Call } from "./call.ts";
import { LIST, type View, viewOf } from "./resources.ts";

/** How often one resource is told to have changed, in milliseconds: whoever reads it each time has read it by then. */
const UPDATE_MS = 1_000;
/** Of one request; a client that shows more than these shows nothing. */
const MOST_RESOURCES = 64;

/** What a client wants to hear of. */
export type Wanted = { readonly uris: readonly string[]; readonly list: boolean };

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
export function wantedBy(message: unknown): Wanted | undefined {
	if (!listenMessage.Check(message)) return undefined;
	const { resourceSubscriptions = [], resourcesListChanged = false } = message.params.notifications;
	const uris = [...new Set(resourceSubscriptions)];
	if (uris.length <= MOST_RESOURCES) return { uris, list: resourcesListChanged };
	throw new SessionError("limit_exceeded", `${uris.length} resources are more than ${MOST_RESOURCES}`, {
		hint: "listen for fewer, or in several requests",
	});
}

/** With what is not news any more to who begins to listen: of a state the last wait, of the others all events before one. */
type Watched = { readonly uri: string; readonly session: Session; readonly view: View; readonly known: number };

/** Where the SDK hears of changes: only what its one client wants is looked at, and only while it listens. */
export class ResourceChanges implements ServerEventBus {
	readonly #wanted: Wanted;
	readonly #call: Call;
	readonly #watched: readonly Watched[];
	readonly #onFailure: (error: unknown) => void;

	private constructor(wanted: Wanted, call: Call, watched: readonly Watched[], onFailure: (error: unknown) => void) {
		this.#wanted = wanted;
		this.#call = call;
		this.#watched = watched;
		this.#onFailure = onFailure;
	}

	/**
	 * Rejects what the caller may not read, or may not read now. Sessions are asked before the client hears that it listens:
	 * whatever happens after that is told.
	 */
	static async open(wanted: Wanted, call: Call, onFailure: (error: unknown) => void): Promise<ResourceChanges> {
		const views = wanted.uris.filter((uri) => uri !== LIST).map((uri) => ({ uri, ...viewOf(uri, call) }));
		for (const { session } of views) call.beginReading(session);
		const watched = views.map(async ({ uri, session, view }) => {
			const known = view === "state" ? (await session.inspect()).episode : (await session.end()).seq;
			return { uri, session, view, known };
		});
		return new ResourceChanges(wanted, call, await Promise.all(watched), onFailure);
	}

	publish(): void {
		// Nobody but us tells anything here.
	}

	subscribe(listener: (event: ServerEvent) => void): () => void {
		const over = new AbortController();
		const signal = AbortSignal.any([over.signal, this.#call.signal]);
		// Whoever wanted to listen has gone while the sessions were asked.
		if (signal.aborted) return () => {};
		const { uris, list } = this.#wanted;
		if (uris.includes(LIST) || list) {
			const tellChange = paced(() => listener({ kind: "resource_updated", uri: LIST }), signal);
			const tellList = paced(() => listener({ kind: "resources_list_changed" }), signal);
			const unwatch = this.#call.watch(() => {
				tellChange();
				tellList();
			});
			signal.addEventListener("abort", unwatch, { once: true });
		}
		for (const { uri, session, view, known } of this.#watched) {
			const tell = paced(() => listener({ kind: "resource_updated", uri }), signal);
			const watch = view === "state" ? watchState : watchOutput;
			const watching = watch(session, known, tell, signal);
			watching.catch((error: unknown) => signal.aborted || this.#onFailure(error));
		}
		return () => over.abort();
	}
}

/** At once, and from then on so often that nobody is kept busy; the last change is always told. */
function paced(tell: () => void, signal: AbortSignal): () => void {
	let toldAt = Number.NEGATIVE_INFINITY;
	let timer: NodeJS.Timeout | undefined;
	signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
	return () => {
		if (timer !== undefined || signal.aborted) return;
		const dueMs = Math.max(0, toldAt + UPDATE_MS - performance.now());
		timer = setTimeout(() => {
			timer = undefined;
			toldAt = performance.now();
			tell();
		}, dueMs);
	};
}

/** Whatever is appended to its log from an event on may change what it shows. */
async function watchOutput(session: Session, seq: number, tell: () => void, signal: AbortSignal): Promise<void> {
	for await (const _ of session.follow({ seq }, { signal, flow: "live" })) tell();
}

/** When its program begins to wait for somebody, after the wait that is known, and when it ends. */
async function watchState(session: Session, known: number, tell: () => void, signal: AbortSignal): Promise<void> {
	for (let episode = known; ; ) {
		const found = await session.untilWaiting(episode, signal);
		if (signal.aborted) return;
		tell();
		if (!isWaiting(found)) return;
		episode = found.episode;
	}
}
