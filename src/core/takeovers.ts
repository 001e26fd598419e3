/** When somebody had exclusive control of a session: whoever works with it, too, is told once what was done meanwhile. */

import type { Lease } from "./lease.ts";

/** The newest are kept: who was away for longer looks at everything anyway. */
const MAX_TAKEOVERS = 16;
/** Callers that are remembered, by their last call; one that is forgotten is told nothing of what was before. */
const MAX_CALLERS = 256;

export type Takeover = {
	readonly holder: string;
	/** The output between its beginning and its end. */
	readonly from: number;
	readonly to: number;
	/** How many commands the shell began meanwhile, as far as it marks them. */
	readonly commands: number;
};

/** What a caller hears: the fence of now, and what others had since its last call. */
export type ControlSince = { readonly fence: number; readonly takeovers: readonly Takeover[] };

type Told = { readonly call: string /** How many there were before it, and after it. */; since: number; upTo: number };

type TakeoversOptions = {
	/** Where the output ends. */
	readonly end: () => number;
	/** How many commands began between two places of it. */
	readonly commandsIn: (from: number, to: number) => number;
};

export class Takeovers {
	readonly #options: TakeoversOptions;
	readonly #past: (Takeover & { readonly number: number })[] = [];
	#count = 0;
	#current: { readonly holder: string; readonly from: number } | undefined;
	/** By the caller's name, in the order of their last calls. */
	readonly #told = new Map<string, Told>();

	constructor(options: TakeoversOptions) {
		this.#options = options;
	}

	/** The lease has changed. Who gets its own control once more has had it all the time. */
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

	/** What others had since the last call of this caller; the same again for the same call. */
	tell(caller: string, call: string): readonly Takeover[] {
		const last = this.#told.get(caller);
		const since = (last?.call === call ? last.since : last?.upTo) ?? this.#count;
		this.#told.delete(caller);
		this.#told.set(caller, { call, since, upTo: this.#count });
		const [oldest] = this.#told.keys();
		if (this.#told.size > MAX_CALLERS && oldest !== undefined) this.#told.delete(oldest);
		return this.#past
			.filter(({ number, holder }) => number > since && holder !== caller)
			.map(({ number: _, ...takeover }) => takeover);
	}
}
