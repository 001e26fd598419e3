/** A keeper's end of the link to one server: handles its calls, streams what it follows, and reports changes. */

import type { Socket } from "node:net";
import { Change } from "../../core/async/change.ts";
import { SessionError } from "../../core/errors.ts";
import type { LogPosition } from "../../core/log/event.ts";
import type { State } from "../../core/log/session-state.ts";
import { growSendBuffer } from "../../native/addon.ts";
import { costOf, type Frame, Link, toWireItem, windowOf } from "../link/link.ts";
import {
	CALLS,
	type Call,
	type Follow,
	type FollowReceipts,
	type FromKeeper,
	fromWireQuestion,
	LINK_VERSIONS,
	type ToKeeper,
	toWireError,
	unknownRequestError,
} from "../link/messages.ts";
import type { Host } from "./host.ts";

const SEND_BUFFER_BYTES = 1024 * 1024;
/**
 * Cursors of one server that read at their own pace, each with a batch here and a window in flight: less than 100 MiB
 * together, with the one that all its viewers share. More than a server admits by default.
 * @limit cursors of one server on a keeper's past | `limit_exceeded`
 */
const MAX_CURSORS = 128;

/** A call in progress. */
type Running = { readonly controller: AbortController; readonly credit: Change; sent: number; taken: number };

/** The server in charge, over all connections of a keeper. */
export type Authority = { generation: number; readonly epoch: string };

export class ServerLink {
	readonly #host: Host;
	readonly #authority: Authority;
	readonly #link: Link<ToKeeper, FromKeeper>;
	readonly #running = new Map<number, Running>();
	readonly #report: (problem: unknown) => void;
	#cursors = 0;
	#isInCharge = false;

	constructor(socket: Socket, options: { host: Host; authority: Authority; report: (problem: unknown) => void }) {
		this.#host = options.host;
		this.#authority = options.authority;
		this.#report = options.report;
		growForChunks(socket);
		this.#link = Link.accept(socket, {
			onFrame: (frame) => this.#take(frame),
			onClose: () => {
				for (const { controller } of this.#running.values()) controller.abort();
				this.#host.detach(this).catch(this.#report);
			},
		});
	}

	announce(state: State, end: LogPosition): void {
		this.#link.send({ state, end });
	}

	/** The session's directory was deleted, moved or replaced. */
	announceRemoval(): void {
		this.#link.send({ isRemoved: true });
	}

	/** No process of the program is left. */
	announceGone(): void {
		this.#link.send({ isGone: true });
	}

	/** A newer server is in charge. */
	supersede(): void {
		this.#refuse(new SessionError("node_unavailable", "another server has taken over this session"));
	}

	#take({ header, body }: Frame<ToKeeper>): void {
		if ("hello" in header) {
			this.#greet(header.hello).catch((error: unknown) => {
				this.#report(error);
				this.#link.close();
			});
			return;
		}
		if (!this.#isInCharge) {
			this.#refuse(new SessionError("unauthenticated", "the first message must be hello"));
			return;
		}
		if ("call" in header) {
			this.#start(header.id, header.call, body);
			return;
		}
		const running = this.#running.get(header.id);
		if (!running) return;
		if ("cancel" in header) {
			running.controller.abort();
			return;
		}
		running.taken += header.credit;
		running.credit.happen();
	}

	async #greet({ versions, generation, epoch }: Extract<ToKeeper, { hello: unknown }>["hello"]): Promise<void> {
		const version = LINK_VERSIONS.find((known) => versions.includes(known));
		if (version === undefined) {
			const message = `no common version of the link: the server speaks ${versions.join(", ")}, this keeper ${LINK_VERSIONS.join(", ")}`;
			return this.#refuse(new SessionError("unsupported", message));
		}
		if (epoch !== this.#authority.epoch) {
			return this.#refuse(new SessionError("session_not_found", "this is not the expected keeper"));
		}
		if (generation < this.#authority.generation) {
			return this.#refuse(new SessionError("node_unavailable", "a newer server is in charge of this session"));
		}
		this.#authority.generation = generation;
		this.#isInCharge = true;
		this.#host.attach(this);
		await this.#host.opened();
		const session = await this.#host.welcomedSession();
		this.#link.send({ welcome: { version, epoch, calls: CALLS, session } });
		if (this.#host.isDirectoryElsewhere) this.announceRemoval();
		if (this.#host.isProgramGone) this.announceGone();
	}

	#refuse(error: SessionError): void {
		this.#isInCharge = false;
		this.#link.send({ refused: toWireError(error) });
		this.#link.end();
	}

	#start(id: number, call: Call, body: Uint8Array): void {
		const running: Running = { controller: new AbortController(), credit: new Change(), sent: 0, taken: 0 };
		this.#running.set(id, running);
		this.#answer(id, call, body, running)
			.then((result) => this.#link.send({ id, result: result ?? null }))
			.catch((error: unknown) => {
				if (!(error instanceof SessionError)) this.#report(error);
				this.#link.send({ id, error: toWireError(error) });
			})
			.finally(() => this.#running.delete(id));
	}

	async #answer(id: number, call: Call, body: Uint8Array, running: Running): Promise<unknown> {
		if (!CALLS.includes(call.do)) throw unknownRequestError(call.do);
		if (call.do === "follow") return this.#stream(id, call, running);
		if (call.do === "receipts") return this.#streamReceipts(id, call, running.controller.signal);
		return this.#host.call(fromWireQuestion(call, body), running.controller.signal);
	}

	/** Streams a cursor's items, unless there are too many streams. */
	async #stream(id: number, call: Follow, running: Running): Promise<void> {
		// The live stream is shared by all viewers.
		if (call.flow === "live") return this.#send(id, call, running);
		if (this.#cursors >= MAX_CURSORS) {
			throw new SessionError("limit_exceeded", `too many readers of this session (limit ${MAX_CURSORS})`, {
				hint: "close some of them and try again",
			});
		}
		this.#cursors++;
		await this.#send(id, call, running).finally(() => this.#cursors--);
	}

	/** Sends items up to the window ahead of the reader. */
	async #send(id: number, call: Follow, running: Running): Promise<void> {
		const { signal } = running.controller;
		const window = windowOf(call.flow);
		const { place, items } = this.#host.follow(call, signal);
		// Sent first, so that a server whose link breaks now knows where to continue.
		if (call.start === "end") this.#link.send({ id, place });
		for await (const next of items) {
			const { item, body } = toWireItem(next);
			this.#link.send({ id, item }, body);
			running.sent += costOf(next);
			while (running.sent - running.taken >= window && !signal.aborted) await running.credit.wait(signal);
			await this.#link.drained(signal);
		}
	}

	/** Sends each receipt when the link can take it. Receipts in between are merged. */
	async #streamReceipts(id: number, call: FollowReceipts, signal: AbortSignal): Promise<void> {
		for await (const receipt of this.#host.receipts(call.stream, signal)) {
			this.#link.send({ id, receipt });
			await this.#link.drained(signal);
		}
	}
}

/**
 * Enlarges the send buffer for the chunks of a flooded terminal, so that each is sent in one write. Linux's default is
 * 214 KiB, and the rest would cost both sides a turn of their event loops. Node has no public way to get a socket's
 * descriptor; without it the link works, but slower.
 */
function growForChunks(socket: Socket): void {
	const { fd } = (socket as unknown as { readonly _handle?: { readonly fd?: number } })._handle ?? {};
	if (fd !== undefined && fd >= 0) growSendBuffer(fd, SEND_BUFFER_BYTES);
}
