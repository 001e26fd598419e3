/** When commands of a shell begin and end, as a bounded sequence that a reader can go on with. */

import { Change } from "./change.ts";
import type { ShellCommand } from "./shell-marks.ts";

/** The newest are kept: more than a shell runs while a reader has its turn. */
const MAX_EVENTS = 64;

type CommandEvent = {
	readonly phase: "begin" | "end";
	/** All that is known of it by then; what was typed by hand is named by some shells at its end only. */
	readonly command: ShellCommand;
};

/** Those after the ones that a reader knows, and how many there were by then. */
export type CommandNews = { readonly events: readonly CommandEvent[]; readonly count: number };

export class CommandEvents {
	readonly #events: CommandEvent[] = [];
	readonly #change = new Change();
	#count = 0;
	/** The command that was told of last, and whether its end was. */
	#last = 0;
	#isEndTold = true;

	/** How the newest command stands: it is told of when it begins, and again when it is over. */
	note(command: ShellCommand, isOver: boolean): void {
		if (command.seq !== this.#last) {
			this.#last = command.seq;
			this.#isEndTold = false;
			this.#add("begin", command);
		}
		if (!isOver || this.#isEndTold) return;
		this.#isEndTold = true;
		this.#add("end", command);
	}

	/** Resolves when there are more than the reader knows, or the signal aborts; at once, if it knows of none. */
	async after(known: number | null, signal: AbortSignal | undefined): Promise<CommandNews> {
		while (known !== null && this.#count <= known && !signal?.aborted) await this.#change.next(signal);
		const unknown = known === null ? 0 : Math.min(this.#count - known, this.#events.length);
		return { events: unknown > 0 ? this.#events.slice(-unknown) : [], count: this.#count };
	}

	#add(phase: CommandEvent["phase"], command: ShellCommand): void {
		this.#events.push({ phase, command });
		this.#count++;
		if (this.#events.length > MAX_EVENTS) this.#events.shift();
		this.#change.happen();
	}
}
