/** Which size a session's terminal has when several are attached to it that have sizes of their own. */

import type { Size } from "../../../core/event.ts";
import type { Session } from "../../../core/session.ts";

export interface Sizer {
	size: Size;
	/** Resizes the session on behalf of this client. */
	resize(size: Size): Promise<unknown>;
}

export class Sizes {
	readonly #session: Session;
	/** Whoever attached, typed or changed its size last is the last. */
	readonly #sizers = new Set<Sizer>();
	#turn: Promise<void> = Promise.resolve();

	constructor(session: Session) {
		this.#session = session;
	}

	/** It has come, or has another size. */
	async tell(sizer: Sizer): Promise<void> {
		this.#sizers.delete(sizer);
		this.#sizers.add(sizer);
		await this.review();
	}

	/** Somebody types there. */
	async used(sizer: Sizer): Promise<void> {
		if ([...this.#sizers].at(-1) !== sizer) await this.tell(sizer);
	}

	async leave(sizer: Sizer): Promise<void> {
		this.#sizers.delete(sizer);
		await this.review();
	}

	/** Gives the session the size that its policy asks for. One change at a time. */
	review(): Promise<void> {
		this.#turn = this.#turn.then(() => this.#settle()).catch(() => {});
		return this.#turn;
	}

	async #settle(): Promise<void> {
		const sizers = [...this.#sizers];
		const latest = sizers.at(-1);
		if (!latest) return;
		const { sizePolicy = "latest", size, status } = await this.#session.info();
		if (status !== "running" || sizePolicy === "fixed" || sizePolicy === "manual") return;
		const wanted = sizePolicy === "latest" ? latest.size : smallest(sizers.map((sizer) => sizer.size));
		if (wanted.cols === size.cols && wanted.rows === size.rows) return;
		// Refused while somebody else has exclusive control: then the session has the size of theirs.
		await latest.resize(wanted);
	}
}

function smallest(sizes: readonly Size[]): Size {
	return { cols: Math.min(...sizes.map(({ cols }) => cols)), rows: Math.min(...sizes.map(({ rows }) => rows)) };
}
