/** A session whose process is gone for good: nothing but a log to read, and how it ended. */

import type { Receipt } from "../core/act.ts";
import { follow } from "../core/cursor.ts";
import { SessionError } from "../core/errors.ts";
import type { Item, Start } from "../core/event.ts";
import { ENDED, type Inspection } from "../core/inspection.ts";
import type { Lease } from "../core/lease.ts";
import type { Log } from "../core/log.ts";
import { NO_ACTIVITY, type Pulse } from "../core/pulse.ts";
import { noTerminal, type ScanState, scanItems } from "../core/scan.ts";
import {
	type Answers,
	answer,
	type FollowOptions,
	type Operation,
	type Operations,
	type Question,
	Session,
	type SessionDetails,
	type SessionSpec,
	type ShellCommands,
} from "../core/session.ts";
import { type ShellCommand, ShellMarks } from "../core/shell-marks.ts";
import type { State } from "../core/state.ts";
import { TAIL_BYTES, tailOf } from "../core/tail.ts";
import { skim } from "../native/addon.ts";

export const NO_LEASE: Lease = { fence: 0, holder: null, exclusive: false };

type Scanned = { readonly state: ScanState; readonly commands: readonly ShellCommand[] };

export class ArchivedSession extends Session {
	readonly state: State;
	readonly #openLog: () => Promise<Log>;
	readonly #shellKey: string | undefined;
	readonly #answers: Answers = {
		info: () => this.#details(),
		end: async () => (await this.#opened()).end,
		scan: async () => (await this.#scanned()).state,
		replies: () => Promise.reject(this.over()),
		untilCursorAsked: async () => null,
		reply: async () => false,
		untilMuchDrawn: async () => {
			if (this.spec.mode !== "pty") throw noTerminal();
			return false;
		},
		setSizePolicy: () => Promise.reject(this.over()),
		act: () => Promise.reject(this.over()),
		actIfWaiting: () => Promise.reject(this.over()),
		secret: () => Promise.reject(this.over()),
		// What was accepted of a stream is not known any more.
		receipt: async () => ({ next: 0, written: 0, room: 0 }),
		forgetStream: async () => null,
		acquire: () => Promise.reject(this.over()),
		release: async () => NO_LEASE,
		leaseChange: ({ known }, signal) => aborted(signal).then(() => known),
		controlSince: async () => ({ fence: NO_LEASE.fence, takeovers: [] }),
		kill: async () => null,
		run: () => Promise.reject(this.over()),
		commands: () => this.#commands(),
		pulse: () => this.#readPulse(),
		commandNews: () => Promise.reject(this.over()),
		inspect: () => this.#inspect(),
		untilWaiting: () => this.#inspect(),
	};
	#log: Promise<Log> | undefined;
	#scan: Promise<Scanned> | undefined;
	#pulse: Promise<Pulse> | undefined;
	#attachments = 0;

	/** The log is opened when somebody wants to read it, so that any number of old sessions costs little. */
	constructor(
		{
			spec,
			state,
			shellKey,
		}: { readonly spec: SessionSpec; readonly state: State; readonly shellKey: string | undefined },
		openLog: () => Promise<Log>,
	) {
		super(spec);
		this.state = state;
		this.#shellKey = shellKey;
		this.#openLog = openLog;
	}

	/** It changes no more. */
	watch(): () => void {
		return () => {};
	}

	async *follow(start: Start, options?: FollowOptions): AsyncGenerator<Item, void, void> {
		const log = await this.#opened();
		const counted = options?.isOwn ? 0 : 1;
		this.#attachments += counted;
		try {
			yield* follow(log, start, options);
		} finally {
			this.#attachments -= counted;
		}
	}

	/** Nothing will be written any more. */
	async *receipts(): AsyncGenerator<Receipt, void, void> {}

	ask<Name extends Operation>(question: Question<Name>, signal?: AbortSignal): Promise<Operations[Name]["answer"]> {
		return answer(this.#answers, question, signal);
	}

	async #details(): Promise<SessionDetails> {
		const log = await this.#opened();
		return {
			...this.state,
			pid: null,
			offsets: { oldest: log.oldest.offset, end: log.end.offset },
			attachments: this.#attachments,
			lease: NO_LEASE,
			terminal: null,
		};
	}

	/** Whoever had it is gone, but it comes out of the journal again. */
	#scanned(): Promise<Scanned> {
		if (this.spec.mode !== "pty") return Promise.reject(noTerminal());
		this.#scan ??= this.#scanLog().catch((error: unknown) => {
			this.#scan = undefined;
			throw error;
		});
		return this.#scan;
	}

	async #scanLog(): Promise<Scanned> {
		const marks = new ShellMarks({ key: this.#shellKey ?? null });
		const items = follow(await this.#opened(), { seq: 1 });
		const state = await scanItems(items, { skim, onMark: (mark, at) => marks.take(mark, at) });
		return { state, commands: marks.commands };
	}

	async #commands(): Promise<ShellCommands> {
		if (this.spec.mode !== "pty") return { commands: [], isProven: false };
		return { commands: (await this.#scanned()).commands, isProven: this.#shellKey !== undefined };
	}

	/** Nothing comes any more: it is read once. */
	#readPulse(): Promise<Pulse> {
		this.#pulse ??= this.#opened()
			.then((log) => lastPulse(log))
			.catch((error: unknown) => {
				this.#pulse = undefined;
				throw error;
			});
		return this.#pulse;
	}

	async #inspect(): Promise<Inspection> {
		const { offset } = (await this.#opened()).end;
		const since = this.state.endedAt ?? this.spec.createdAt;
		return { ...ENDED, pid: null, program: null, cwd: null, offset, since, quietMs: 0, episode: 0 };
	}

	#opened(): Promise<Log> {
		this.#log ??= this.#openLog().catch((error: unknown) => {
			// The next who asks tries again: there may be a descriptor then.
			this.#log = undefined;
			throw error;
		});
		return this.#log;
	}

	/** What somebody is told who wants to act on it. */
	over(): SessionError {
		return new SessionError("session_closed", `session "${this.id}" has ended (${this.state.status})`);
	}
}

async function lastPulse(log: Log): Promise<Pulse> {
	const { offset } = log.end;
	const pieces: Uint8Array[] = [];
	let lastOutputAt: number | null = null;
	for await (const item of follow(log, { offset: Math.max(0, offset - TAIL_BYTES) })) {
		if (item.kind !== "output") continue;
		pieces.push(item.bytes.slice(-TAIL_BYTES));
		lastOutputAt = item.time;
	}
	const tail = tailOf(pieces);
	return { count: 0, offset, lastOutputAt, activity: NO_ACTIVITY, usualIntervalMs: null, tail };
}

function aborted(signal: AbortSignal | undefined): Promise<void> {
	return new Promise((resolve) => {
		if (signal?.aborted) resolve();
		signal?.addEventListener("abort", () => resolve(), { once: true });
	});
}
