/** Tells programs that ask for it where their cursor is, while no attached terminal does: sessions know everything else themselves. */

import { SessionError } from "../core/errors.ts";
import type { Screens } from "../core/screen.ts";
import type { Session } from "../core/session.ts";
import type { Sessions } from "../core/sessions.ts";

export type CursorRepliesOptions = {
	readonly sessions: Sessions;
	readonly screens: Pick<Screens, "read">;
	/** Hears of our own bugs. */
	readonly report: (problem: unknown) => void;
};

export class CursorReplies {
	readonly #options: CursorRepliesOptions;
	/** Of each session that may ask. */
	readonly #waits = new Map<string, AbortController>();
	readonly #unwatch: () => void;

	constructor(options: CursorRepliesOptions) {
		this.#options = options;
		this.#unwatch = options.sessions.watch(({ kind, session }) => {
			if (kind === "removed" || session.state.status !== "running") this.#leave(session.id);
			else this.#join(session);
		});
		for (const session of options.sessions.list()) this.#join(session);
	}

	close(): void {
		this.#unwatch();
		for (const id of [...this.#waits.keys()]) this.#leave(id);
	}

	#join(session: Session): void {
		const { spec, state } = session;
		const mayAsk = spec.mode === "pty" && spec.answersQueries === true && state.status === "running";
		if (!mayAsk || this.#waits.has(session.id)) return;
		const wait = new AbortController();
		this.#waits.set(session.id, wait);
		this.#answer(session, wait.signal).catch((error: unknown) => {
			// It has ended, is not to be had, or is kept by somebody who is older and can't be asked for this.
			if (!(error instanceof SessionError)) this.#options.report(error);
		});
	}

	#leave(id: string): void {
		this.#waits.get(id)?.abort();
		this.#waits.delete(id);
	}

	async #answer(session: Session, signal: AbortSignal): Promise<void> {
		for (let after = 0; ; ) {
			const query = await session.ask<"untilCursorAsked">({ do: "untilCursorAsked", after }, signal);
			if (!query || signal.aborted) return;
			after = query.end;
			const text = await this.#replyTo(session, query, signal);
			if (text !== undefined) await session.ask<"reply">({ do: "reply", end: query.end, text });
		}
	}

	/** Undefined where the screen can't be had, or has gone on. */
	async #replyTo(
		session: Session,
		{ end, isExtended }: { readonly end: number; readonly isExtended: boolean },
		signal: AbortSignal,
	): Promise<string | undefined> {
		try {
			const { offset, cursor } = await this.#options.screens.read(session, { signal });
			return offset === end ? `\u001b[${isExtended ? "?" : ""}${cursor.row + 1};${cursor.col + 1}R` : undefined;
		} catch (error) {
			if (error instanceof SessionError) return undefined;
			throw error;
		}
	}
}
