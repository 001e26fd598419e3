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

type Watched = { readonly uri: string; readonly session: Session; readonly view: View };

/** Where the SDK hears of changes: only what its one client wants is looked at, and only while it listens. */
export class ResourceChanges implements ServerEventBus {
	readonly #wanted: Wanted;
	readonly #call: Call;
	readonly #watched: readonly Watched[];
	readonly #onFailure: (error: unknown) => void;

	/** Rejects what the caller may not read, or may not read now. */
	constructor(wanted: Wanted, call: Call, onFailure: (error: unknown) => void) {
		this.#wanted = wanted;
		this.#call = call;
		this.#onFailure = onFailure;
		this.#watched = wanted.uris.filter((uri) => uri !== LIST).map((uri) => ({ uri, ...viewOf(uri, call) }));
		for (const { session } of this.#watched) call.beginReading(session);
	}

	publish(): void {
		// Nobody but us tells anything here.
	}

	subscribe(listener: (event: ServerEvent) => void): () => void {
		const over = new AbortController();
		const signal = AbortSignal.any([over.signal, this.#call.signal]);
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
		for (const { uri, session, view } of this.#watched) {
			const tell = paced(() => listener({ kind: "resource_updated", uri }), signal);
			const watching = view === "state" ? watchState(session, tell, signal) : watchOutput(session, tell, signal);
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

/** Whatever is appended to its log may change what it shows. */
async function watchOutput(session: Session, tell: () => void, signal: AbortSignal): Promise<void> {
	for await (const _ of session.follow("end", { signal, flow: "live" })) tell();
}

/** When its program begins to wait for somebody, and when it ends. */
async function watchState(session: Session, tell: () => void, signal: AbortSignal): Promise<void> {
	for (let { episode } = await session.inspect(); ; ) {
		const found = await session.untilWaiting(episode, signal);
		if (signal.aborted) return;
		tell();
		if (!isWaiting(found)) return;
		episode = found.episode;
	}
}
