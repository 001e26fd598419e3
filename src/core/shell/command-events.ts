/** Begin and end events of a shell's commands, in a bounded sequence that a reader can continue. */

import { Change } from "../async/change.ts";
import type { ShellCommand } from "./shell-marks.ts";

/**
 * Newest events kept: more than a shell produces between two reads.
 * @limit begun and ended commands that a follower may be behind | it misses the older ones
 */
const MAX_EVENTS = 64;

type CommandEvent = {
	readonly phase: "begin" | "end";
	/** The command as known then. Some shells report the text of a typed command only at its end. */
	readonly command: ShellCommand;
};

/** Events after those that a reader knows, and the total count. */
export type CommandEventPage = { readonly events: readonly CommandEvent[]; readonly count: number };

export class CommandEvents {
	readonly #events: CommandEvent[] = [];
	readonly #change = new Change();
	#count = 0;
	/** The command reported last, and whether its end was reported. */
	#last = 0;
	#isEndReported = true;

	/** Reports the newest command when it begins, and again when it is over. */
	note(command: ShellCommand, isOver: boolean): void {
		if (command.seq !== this.#last) {
			this.#last = command.seq;
			this.#isEndReported = false;
			this.#add("begin", command);
		}
		if (!isOver || this.#isEndReported) return;
		this.#isEndReported = true;
		this.#add("end", command);
	}

	/** Resolves when there are events after the known count, or the signal aborts; at once with null. */
	async after(known: number | null, signal: AbortSignal | undefined): Promise<CommandEventPage> {
		while (known !== null && this.#count <= known && !signal?.aborted) await this.#change.wait(signal);
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
