/** A keeper's end of the link to one server: takes its calls, streams what it follows, and tells it what happens. */

import type { Socket } from "node:net";
import { Change } from "../core/change.ts";
import { SessionError } from "../core/errors.ts";
import type { State } from "../core/state.ts";
import type { Frame } from "../link/frames.ts";
import { Link } from "../link/link.ts";
import {
	CALLS,
	type Call,
	costOf,
	type Follow,
	type FollowReceipts,
	type FromKeeper,
	frameLimitsOf,
	fromWireQuestion,
	LINK_VERSIONS,
	type ToKeeper,
	toWireError,
	toWireItem,
	unknownCall,
	windowOf,
} from "../link/messages.ts";
import { growSendBuffer } from "../native/addon.ts";
import type { Host } from "./host.ts";

const SEND_BUFFER_BYTES = 1024 * 1024;
/**
 * Cursors of one server that read at their own pace, each with a batch here and a window on its way: with the one that
 * all its viewers share they cost less than 100 MiB together. More than a server lets in by its default.
 */
const MAX_CURSORS = 128;

/** A call under way. */
type Running = { readonly controller: AbortController; readonly credit: Change; sent: number; taken: number };

/** Which server is right, over all connections of one keeper. */
export type Authority = { generation: number; readonly epoch: string };

export class ServerLink {
	readonly #host: Host;
	readonly #authority: Authority;
	readonly #link: Link<ToKeeper, FromKeeper>;
	readonly #running = new Map<number, Running>();
	readonly #report: (problem: unknown) => void;
	#cursors = 0;
	#version = 0;
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

	announce(state: State): void {
		this.#link.send({ state });
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
			this.#refuse(new SessionError("unauthenticated", "the link begins with hello"));
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
			return this.#refuse(new SessionError("session_not_found", "this is another keeper than the one expected"));
		}
		if (generation < this.#authority.generation) {
			return this.#refuse(new SessionError("node_unavailable", "a newer server is in charge of this session"));
		}
		this.#authority.generation = generation;
		this.#version = version;
		this.#link.limitTo(frameLimitsOf(version));
		this.#isInCharge = true;
		this.#host.attach(this);
		await this.#host.opened();
		const details = await this.#host.details();
		const { sessionId: session, state, end } = this.#host;
		this.#link.send({ welcome: { version, epoch, session, state, end, calls: CALLS, details } });
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
		if (!CALLS.includes(call.do)) throw unknownCall(call.do);
		if (call.do === "follow") return this.#stream(id, call, running);
		if (call.do === "receipts") return this.#streamReceipts(id, call, running.controller.signal);
		if (isVersion1Receipt(call)) return this.#receiptAfter(call, running.controller.signal);
		return this.#host.call(fromWireQuestion(call, body), running.controller.signal);
	}

	/** Sends a cursor's items, unless there are too many that do so. */
	async #stream(id: number, call: Follow, running: Running): Promise<void> {
		// There is one such for all who watch.
		if (call.flow === "live") return this.#send(id, call, running);
		if (this.#cursors >= MAX_CURSORS) {
			throw new SessionError("limit_exceeded", `this session is read from ${this.#cursors} places at the same time`, {
				hint: "close some of them, and try again",
			});
		}
		this.#cursors++;
		await this.#send(id, call, running).finally(() => this.#cursors--);
	}

	/** Never more ahead of the reader than the window. */
	async #send(id: number, call: Follow, running: Running): Promise<void> {
		const { signal } = running.controller;
		const window = windowOf(call.flow);
		const { place, items } = this.#host.follow(call, signal);
		// First of all, so that a server whose link breaks now knows from where to go on.
		if (this.#version >= 2 && call.start === "end") this.#link.send({ id, place });
		for await (const next of items) {
			const { item, body } = toWireItem(next);
			this.#link.send({ id, item }, body);
			running.sent += costOf(next);
			while (running.sent - running.taken >= window && !signal.aborted) await running.credit.next(signal);
			await this.#link.drained(signal);
		}
	}

	/** Sends each receipt as soon as the link takes it; those that came meanwhile are one. */
	async #streamReceipts(id: number, call: FollowReceipts, signal: AbortSignal): Promise<void> {
		for await (const receipt of this.#host.receipts(call.stream, signal)) {
			this.#link.send({ id, receipt });
			await this.#link.drained(signal);
		}
	}

	/** As servers of version 1 ask: answered once `written` has passed `after`, or nothing will be written any more. */
	async #receiptAfter({ stream, after }: Version1Receipt, signal: AbortSignal): Promise<unknown> {
		for await (const receipt of this.#host.receipts(stream, signal)) if (receipt.written > after) return receipt;
		return this.#host.call({ do: "receipt", stream }, signal);
	}
}

type Version1Receipt = { readonly do: "receipt"; readonly stream: string; readonly after: number };

function isVersion1Receipt(call: Call | Version1Receipt): call is Version1Receipt {
	return call.do === "receipt" && "after" in call;
}

/**
 * Makes room in the kernel for the chunks of a flooded terminal, so that each leaves in one write: by default Linux
 * takes 214 KiB, and the rest costs both sides a turn of their loops. Node tells the descriptor of a socket only
 * under this name; without it all works, but slower.
 */
function growForChunks(socket: Socket): void {
	const { fd } = (socket as unknown as { readonly _handle?: { readonly fd?: number } })._handle ?? {};
	if (fd !== undefined && fd >= 0) growSendBuffer(fd, SEND_BUFFER_BYTES);
}
