/** A keeper's end of the link to one server: takes its calls, streams its cursors, and tells it what happens. */

import type { Socket } from "node:net";
import { Change } from "../core/change.ts";
import { SessionError } from "../core/errors.ts";
import type { State } from "../core/state.ts";
import { type Frame, Link } from "../link/link.ts";
import {
	type Call,
	costOf,
	type Follow,
	type FromKeeper,
	fromWireQuestion,
	LINK_VERSIONS,
	type ToKeeper,
	toWireError,
	toWireItem,
	windowOf,
} from "../link/messages.ts";
import { growSendBuffer } from "../native/addon.ts";
import type { Host } from "./host.ts";

const SEND_BUFFER_BYTES = 1024 * 1024;

/** A call under way. */
type Running = { readonly controller: AbortController; readonly credit: Change; sent: number; taken: number };

/** Who is in charge, over all connections of one keeper. */
export type Charge = { generation: number; readonly epoch: string };

export class Control {
	readonly #host: Host;
	readonly #charge: Charge;
	readonly #link: Link<ToKeeper, FromKeeper>;
	readonly #running = new Map<number, Running>();
	readonly #report: (problem: unknown) => void;
	#isInCharge = false;

	constructor(socket: Socket, options: { host: Host; charge: Charge; report: (problem: unknown) => void }) {
		this.#host = options.host;
		this.#charge = options.charge;
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
			this.#greet(header.hello).catch(this.#report);
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
		if (epoch !== this.#charge.epoch) {
			return this.#refuse(new SessionError("session_not_found", "this is another keeper than the one expected"));
		}
		if (generation < this.#charge.generation) {
			return this.#refuse(new SessionError("node_unavailable", "a newer server is in charge of this session"));
		}
		this.#charge.generation = generation;
		this.#isInCharge = true;
		this.#host.attach(this);
		await this.#host.opened();
		const { sessionId: session, state } = this.#host;
		this.#link.send({ welcome: { version, epoch, session, state } });
	}

	#refuse(error: SessionError): void {
		this.#isInCharge = false;
		this.#link.send({ refused: toWireError(error) });
		this.#link.end();
	}

	#start(id: number, call: Call, body: Uint8Array): void {
		const running: Running = { controller: new AbortController(), credit: new Change(), sent: 0, taken: 0 };
		this.#running.set(id, running);
		const done =
			call.do === "follow"
				? this.#stream(id, call, running)
				: this.#host.call(fromWireQuestion(call, body), running.controller.signal);
		done
			.then(
				(result) => this.#link.send({ id, result: result ?? null }),
				(error: unknown) => {
					if (!(error instanceof SessionError)) this.#report(error);
					this.#link.send({ id, error: toWireError(error) });
				},
			)
			.finally(() => this.#running.delete(id));
	}

	/** Sends a cursor's items, never more ahead of the reader than the window. */
	async #stream(id: number, call: Follow, running: Running): Promise<void> {
		const { signal } = running.controller;
		const window = windowOf(call.flow);
		for await (const next of this.#host.follow(call, signal)) {
			const { item, body } = toWireItem(next);
			this.#link.send({ id, item }, body);
			running.sent += costOf(next);
			while (running.sent - running.taken >= window && !signal.aborted) await running.credit.next(signal);
		}
	}
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
