/** Chooses the size of a session's terminal when several clients with different sizes are attached. */

import { Serial } from "../../async/serial.ts";
import type { Session } from "../../core/session/session.ts";
import type { Size } from "../../words/state.ts";

export interface ClientSize {
	size: Size;
	/** Resizes the session on behalf of this client. */
	resize(size: Size): Promise<unknown>;
}

export class SizeArbiter {
	readonly #session: Session;
	/** In order of last use: the client that attached, typed or changed its size last comes last. */
	readonly #sizers = new Set<ClientSize>();
	readonly #reviews = new Serial();

	constructor(session: Session) {
		this.#session = session;
	}

	/** The client has attached or changed its size. */
	async update(sizer: ClientSize): Promise<void> {
		this.#sizers.delete(sizer);
		this.#sizers.add(sizer);
		await this.review();
	}

	/** The client has typed. */
	async used(sizer: ClientSize): Promise<void> {
		if ([...this.#sizers].at(-1) !== sizer) await this.update(sizer);
	}

	async leave(sizer: ClientSize): Promise<void> {
		this.#sizers.delete(sizer);
		await this.review();
	}

	/** Applies the session's size policy. One change at a time. */
	review(): Promise<void> {
		return this.#reviews.run(() => this.#settle()).catch(() => {});
	}

	async #settle(): Promise<void> {
		const sizers = [...this.#sizers];
		const latest = sizers.at(-1);
		if (!latest) return;
		const { sizePolicy = "latest", size, status } = await this.#session.info();
		if (status !== "running" || sizePolicy === "fixed" || sizePolicy === "manual") return;
		const wanted = sizePolicy === "latest" ? latest.size : smallest(sizers.map((sizer) => sizer.size));
		if (wanted.cols === size.cols && wanted.rows === size.rows) return;
		// Refused while another client has exclusive control. The session then keeps that client's size.
		await latest.resize(wanted);
	}
}

function smallest(sizes: readonly Size[]): Size {
	return { cols: Math.min(...sizes.map(({ cols }) => cols)), rows: Math.min(...sizes.map(({ rows }) => rows)) };
}
