/** A session without a process: a log to read, and its final state. */

import { SessionError } from "../../core/errors.ts";
import type { Receipt } from "../../core/input/action.ts";
import { ENDED, type Inspection } from "../../core/inspect/inspection.ts";
import { NO_ACTIVITY, type OutputActivity } from "../../core/inspect/output-activity.ts";
import type { FollowOptions } from "../../core/log/cursor.ts";
import { follow } from "../../core/log/cursor.ts";
import { type Item, isEmptyGap, LOG_START, type Start } from "../../core/log/event.ts";
import type { Log } from "../../core/log/log.ts";
import { TAIL_BYTES, tailOf } from "../../core/log/output-tail.ts";
import type { State } from "../../core/log/session-state.ts";
import type { Lease } from "../../core/session/lease.ts";
import {
	handleOperation,
	type Operation,
	type OperationHandlers,
	type OperationRequest,
	type Operations,
	type ShellCommands,
} from "../../core/session/operations.ts";
import { Session, type SessionSummary } from "../../core/session/session.ts";
import type { SessionDetails, SessionSpec } from "../../core/session/session-info.ts";
import { type ShellCommand, ShellMarks } from "../../core/shell/shell-marks.ts";
import { noTerminalError, type ScanState, scanItems } from "../../core/terminal/terminal-scan.ts";
import { NO_SIGNALS } from "../../core/terminal/terminal-signals.ts";
import { skim } from "../../native/addon.ts";

export const NO_LEASE: Lease = { fence: 0, holder: null, exclusive: false };

type Scanned = { readonly state: ScanState; readonly commands: readonly ShellCommand[] };

export class ArchivedSession extends Session {
	readonly state: State;
	readonly gone: Promise<void>;
	readonly #openLog: () => Promise<Log>;
	readonly #shellKey: string | undefined;
	readonly #answers: OperationHandlers = {
		info: () => this.#details(),
		end: async () => (await this.#opened()).end,
		scan: async () => (await this.#scanned()).state,
		// The programs that gave them have ended.
		signals: async () => ({ ...NO_SIGNALS, offset: (await this.#opened()).end.offset }),
		reportHook: () => Promise.reject(this.over()),
		replies: () => Promise.reject(this.over()),
		untilCursorAsked: async () => null,
		reply: async () => false,
		untilRedrawDue: async () => {
			if (this.spec.mode !== "pty") throw noTerminalError();
			return false;
		},
		setSizePolicy: () => Promise.reject(this.over()),
		act: () => Promise.reject(this.over()),
		actIfWaiting: () => Promise.reject(this.over()),
		secret: () => Promise.reject(this.over()),
		// The input streams are lost with the keeper.
		receipt: async () => ({ next: 0, written: 0, room: 0 }),
		forgetStream: async () => null,
		acquire: () => Promise.reject(this.over()),
		release: async () => NO_LEASE,
		leaseChange: ({ known }, signal) => aborted(signal).then(() => known),
		controlChanges: async () => ({ fence: NO_LEASE.fence, takeovers: [] }),
		kill: async () => null,
		run: () => Promise.reject(this.over()),
		commands: () => this.#commands(),
		outputActivity: () => this.#readActivity(),
		commandEvents: () => Promise.reject(this.over()),
		inspect: () => this.#inspect(),
		untilWaiting: () => this.#inspect(),
	};
	#log: Promise<Log> | undefined;
	#scan: Promise<Scanned> | undefined;
	#outputActivity: Promise<OutputActivity> | undefined;
	#attachments = 0;
	#isRetired = false;

	/** The log is opened when it is first read, so that many old sessions cost little. */
	constructor(
		{
			spec,
			state,
			shellKey,
			mayRun = false,
		}: {
			readonly spec: SessionSpec;
			readonly state: State;
			readonly shellKey: string | undefined;
			/** Processes of its program may still run. */
			readonly mayRun?: boolean;
		},
		openLog: () => Promise<Log>,
	) {
		super(spec);
		this.state = state;
		this.gone = mayRun ? new Promise(() => {}) : Promise.resolve();
		this.#shellKey = shellKey;
		this.#openLog = openLog;
	}

	/** The state never changes. */
	watch(): () => void {
		return () => {};
	}

	async *follow(start: Start, options?: FollowOptions): AsyncGenerator<Item, void, void> {
		const counted = options?.isOwn ? 0 : 1;
		this.#attachments += counted;
		try {
			for await (const item of follow(await this.#opened(), start, options)) {
				// A gap may come from files that were just removed.
				if (this.#isRetired) throw wasRemoved(this.id);
				if (!isEmptyGap(item)) yield item;
			}
		} catch (error) {
			throw this.#isRetired ? wasRemoved(this.id) : unreadable(this.id, error);
		} finally {
			this.#attachments -= counted;
		}
	}

	/** The session is being removed: nothing can be read any more. */
	retire(): void {
		this.#isRetired = true;
	}

	/** The removal failed. */
	unretire(): void {
		this.#isRetired = false;
	}

	/** An unreadable journal does not hide the session from lists. */
	override async summary(): Promise<SessionSummary> {
		try {
			return await this.info();
		} catch (error) {
			if (this.#isRetired) throw error;
			const unknown = { pid: null, offsets: null, lease: NO_LEASE, terminal: null, unreachable: true } as const;
			return { ...this.spec, ...this.state, ...unknown, attachments: this.#attachments };
		}
	}

	/** Ends at once, because no input will be written. */
	async *receipts(): AsyncGenerator<Receipt, void, void> {}

	async ask<Name extends Operation>(
		question: OperationRequest<Name>,
		signal?: AbortSignal,
	): Promise<Operations[Name]["answer"]> {
		try {
			return await handleOperation(this.#answers, question, signal);
		} catch (error) {
			throw this.#isRetired ? wasRemoved(this.id) : error;
		}
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

	/** The keeper's scan is gone, but the journal can be scanned again. */
	#scanned(): Promise<Scanned> {
		if (this.spec.mode !== "pty") return Promise.reject(noTerminalError());
		this.#scan ??= this.#scanLog().catch((error: unknown) => {
			this.#scan = undefined;
			throw error;
		});
		return this.#scan;
	}

	async #scanLog(): Promise<Scanned> {
		const marks = new ShellMarks({ key: this.#shellKey ?? null });
		const items = follow(await this.#opened(), LOG_START);
		const state = await scanItems(items, { skim, onMark: (mark, at) => marks.take(mark, at) });
		return { state, commands: marks.commands };
	}

	async #commands(): Promise<ShellCommands> {
		if (this.spec.mode !== "pty") return { commands: [], isProven: false };
		return { commands: (await this.#scanned()).commands, isProven: this.#shellKey !== undefined };
	}

	/** Computed once, because it can't change. */
	#readActivity(): Promise<OutputActivity> {
		this.#outputActivity ??= this.#opened()
			.then((log) => lastPulse(log))
			.catch((error: unknown) => {
				this.#outputActivity = undefined;
				throw error;
			});
		return this.#outputActivity;
	}

	async #inspect(): Promise<Inspection> {
		const { offset } = (await this.#opened()).end;
		const since = this.state.endedAt ?? this.spec.createdAt;
		return { ...ENDED, pid: null, program: null, cwd: null, offset, since, quietMs: 0, episode: 0 };
	}

	#opened(): Promise<Log> {
		this.#log ??= this.#openLog().catch((error: unknown) => {
			// The next call tries again, because the failure may be temporary.
			this.#log = undefined;
			throw unreadable(this.id, error);
		});
		return this.#log;
	}

	/** The error for actions on it. */
	over(): SessionError {
		return new SessionError("session_closed", `session "${this.id}" has ended (${this.state.status})`);
	}
}

export function wasRemoved(id: string): SessionError {
	return new SessionError("session_not_found", `session "${id}" was removed`);
}

/** An unreadable journal is not an internal error: users may move or damage the file. */
function unreadable(id: string, error: unknown): unknown {
	const { code } = error as NodeJS.ErrnoException;
	if (error instanceof SessionError || code === undefined) return error;
	const known = SessionError.from(error);
	if (known.code !== "internal") return known;
	return new SessionError("node_unavailable", `the journal of session "${id}" can't be read at the moment (${code})`, {
		hint: "try again; if it persists, the operator finds the file in the server's log",
		cause: error,
	});
}

async function lastPulse(log: Log): Promise<OutputActivity> {
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
