/** Remembers who took exclusive control of a session, so that other callers learn once what happened meanwhile. */

import type { Lease } from "./lease.ts";

/**
 * The newest takeovers kept. A caller that was away longer has to read everything anyway.
 * @limit takeovers of a session that are remembered | the oldest are forgotten
 */
const MAX_TAKEOVERS = 16;
/**
 * Callers remembered, by their last call. A forgotten caller is not informed of earlier takeovers.
 * @limit callers of a session with reported takeovers | the oldest is forgotten, and gets none of the earlier ones
 */
const MAX_CALLERS = 256;

export type Takeover = {
	readonly holder: string;
	/** The output during the takeover. */
	readonly from: number;
	readonly to: number;
	/** Commands that the shell began meanwhile, if it marks them. */
	readonly commands: number;
};

/** The current fence, and takeovers by others since the caller's last call. */
export type ControlChanges = { readonly fence: number; readonly takeovers: readonly Takeover[] };

/** A caller's last call, and the number of takeovers before and after it. */
type LastCall = { readonly call: string; since: number; upTo: number };
type TakeoversOptions = {
	/** The end of the output. */
	readonly end: () => number;
	/** Number of commands that began between two offsets. */
	readonly commandsIn: (from: number, to: number) => number;
};

export class TakeoverHistory {
	readonly #options: TakeoversOptions;
	readonly #past: (Takeover & { readonly number: number })[] = [];
	#count = 0;
	#current: { readonly holder: string; readonly from: number } | undefined;
	/** By the caller's name, least recent first. */
	readonly #calls = new Map<string, LastCall>();

	constructor(options: TakeoversOptions) {
		this.#options = options;
	}

	/** Notes a change of the lease. A holder that takes its own control again has had it all the time. */
	note({ holder, exclusive }: Lease): void {
		const now = exclusive ? holder : null;
		const to = this.#options.end();
		if (this.#current && this.#current.holder !== now) {
			const { from } = this.#current;
			const commands = this.#options.commandsIn(from, to);
			this.#past.push({ ...this.#current, to, commands, number: ++this.#count });
			if (this.#past.length > MAX_TAKEOVERS) this.#past.shift();
			this.#current = undefined;
		}
		if (now !== null) this.#current ??= { holder: now, from: to };
	}

	/** Takeovers by others since this caller's last call. The same call gets the same answer again. */
	report(caller: string, call: string): readonly Takeover[] {
		const last = this.#calls.get(caller);
		const since = (last?.call === call ? last.since : last?.upTo) ?? this.#count;
		this.#calls.delete(caller);
		this.#calls.set(caller, { call, since, upTo: this.#count });
		const [oldest] = this.#calls.keys();
		if (this.#calls.size > MAX_CALLERS && oldest !== undefined) this.#calls.delete(oldest);
		return this.#past
			.filter(({ number, holder }) => number > since && holder !== caller)
			.map(({ number: _, ...takeover }) => takeover);
	}
}
