/**
 * A PTY as its clients see it. It outlives its programs, one at a time, and its connections, of which one at a time is
 * the holder. Only the holder starts a program, so that two can't start at once.
 */

import { sleep } from "../../../../async/sleep.ts";
import { SessionError } from "../../../../core/errors.ts";
import type { FollowOptions } from "../../../../core/log/cursor.ts";
import { isEnded } from "../../../../core/log/session-state.ts";
import type { AuditedCaller } from "../../../../core/policy/audited-caller.ts";
import type { RequestedStart } from "../../../../core/policy/planned-start.ts";
import type { Session } from "../../../../core/session/session.ts";
import { defaultTimes } from "../limits.ts";
import type { OpenSandboxOptions } from "../options.ts";
import { defaultPlacement } from "../options.ts";
import { shellEnvironment, shellFor } from "../shells.ts";
import { Holder } from "../socket/holder.ts";
import { type Link, PtyReader, REPLAY_BYTES } from "./stream.ts";

/** Session label with the PTY's id. */
const LABEL = "opensandbox.pty";

/** Delay before an unresponsive keeper is asked again. */
const RETRY_MS = 250;

/** The stored part of a PTY: its options, and where each session's output starts in its stream. */
export type PtyData = {
	readonly id: string;
	/** The server's directory, if empty. */
	readonly cwd: string;
	/** An interactive shell, if empty. */
	readonly command: string;
	readonly parts: readonly PtyPart[];
};

export type PtyPart = { readonly session: string; readonly base: number };

type PtyStatus = { readonly isRunning: boolean; readonly total: number };

/** An attachment: its program and its output. */
export type PtyAttachment = { readonly session: Session; readonly reader: PtyReader };

type PtyRecordOptions = {
	readonly front: OpenSandboxOptions;
	/** Stores all records. */
	readonly save: () => Promise<void>;
	readonly report: (problem: unknown) => void;
};

export class PtyRecord {
	readonly holder: Holder = new Holder();
	readonly #options: PtyRecordOptions;
	readonly #asked: Omit<PtyData, "parts">;
	#parts: readonly PtyPart[];
	/** Highest total reported so far, so that totals never decrease. */
	#seen = 0;
	/** The caller that deletes the PTY, once it is being deleted. */
	#closing: AuditedCaller | undefined;

	constructor(data: PtyData, options: PtyRecordOptions) {
		const { parts, ...asked } = data;
		this.#asked = asked;
		this.#parts = parts;
		this.#options = options;
	}

	get id(): string {
		return this.#asked.id;
	}

	get data(): PtyData {
		return { ...this.#asked, parts: this.#parts };
	}

	/** Whether it is being deleted. */
	get isClosing(): boolean {
		return this.#closing !== undefined;
	}

	/** All sessions of its programs, including those whose output is no longer replayed. */
	get sessions(): readonly Session[] {
		return this.#options.front.sessions.list().filter((session) => this.#isOurs(session));
	}

	/** Last known state. A program with an unresponsive keeper counts as running. */
	get isRunning(): boolean {
		return this.#last()?.state.status === "running";
	}

	/** Reads both fields from the same session, so that they are consistent. */
	async status(): Promise<PtyStatus> {
		const base = this.#parts.at(-1)?.base ?? 0;
		const info = await this.#last()?.info();
		return { isRunning: info?.status === "running", total: this.#atLeast(base + (info?.offsets.end ?? 0)) };
	}

	/** Starts a program unless one runs, for the holder. Calls `allow` first. */
	async ensureRunning(
		mode: "pty" | "pipe",
		options: { allow: () => void; witness: AuditedCaller; signal: AbortSignal },
	): Promise<void> {
		if (this.isRunning) return;
		options.allow();
		// The last output of the previous program must come before that of the next.
		await untilEnded(this.#last(), options.signal);
		const total = await this.#total();
		// The holder may have left meanwhile.
		if (!options.signal.aborted) await this.#start(mode, total, options.witness);
	}

	/** Waits for the keeper of the last program to report the end of the output, until the signal aborts. */
	async untilReachable(signal: AbortSignal): Promise<void> {
		for (;;) {
			try {
				await this.#total();
				return;
			} catch (error) {
				if (!isUnavailable(error) || signal.aborted) throw error;
			}
			await sleep(RETRY_MS, signal);
		}
	}

	/** Creates a reader. Its replay ends at the current end of the output. */
	async attach(since: number, options: FollowOptions & { signal: AbortSignal }): Promise<PtyAttachment> {
		const total = await this.#total();
		const session = this.#last();
		if (!session) throw notFound(this.id);
		return { session, reader: new PtyReader(this.#chain(), { since, total }, options) };
	}

	/** Ends everything on behalf of a caller; nothing can start afterwards. Does not wait for the program's end. */
	close(witness: AuditedCaller): void {
		this.#closing = witness;
		for (const session of this.sessions) this.#remove(session, witness);
	}

	/** End of the output as reported by the keeper. An older value would give a reader some bytes twice. */
	async #total(): Promise<number> {
		const base = this.#parts.at(-1)?.base ?? 0;
		const end = await this.#last()?.end();
		return this.#atLeast(base + (end?.offset ?? 0));
	}

	#atLeast(total: number): number {
		this.#seen = Math.max(this.#seen, total);
		return this.#seen;
	}

	async #start(mode: "pty" | "pipe", base: number, witness: AuditedCaller): Promise<void> {
		const { front, save } = this.#options;
		const start = await startOf(this.#asked, mode, front);
		this.#checkOpen();
		const before = this.#parts;
		this.#parts = [...this.#readable(base), { session: start.spec.id, base }];
		try {
			// Saved before the start: a crash in between leaves a part without a session, never a session without a record.
			await save();
			const session = await witness.create(front.sessions, start);
			// A concurrent delete could not see this session.
			if (this.#closing) this.#remove(session, this.#closing);
		} catch (error) {
			this.#parts = before;
			throw error;
		}
		this.#checkOpen();
	}

	/** Parts with output that can still be replayed. The others are forgotten; their background processes continue. */
	#readable(total: number): readonly PtyPart[] {
		const { front, report } = this.#options;
		const readable = this.#parts.filter(({ session, base }, index) => {
			const end = this.#parts[index + 1]?.base ?? total;
			return end > base && end > total - REPLAY_BYTES && front.sessions.get(session) !== undefined;
		});
		for (const part of this.#parts) if (!readable.includes(part)) front.sessions.forget(part.session).catch(report);
		return readable;
	}

	#isOurs({ spec }: Session): boolean {
		return spec.labels[LABEL] === this.id && spec.workspace === defaultPlacement.workspace;
	}

	#remove(session: Session, witness: AuditedCaller): void {
		const { front, report } = this.#options;
		// Killed immediately; `remove` alone would start with SIGTERM.
		const killed = witness.session(session).kill({ signal: "SIGKILL", graceMs: 0, reason: "killed" });
		killed.then(() => front.sessions.remove(session.id)).catch(report);
	}

	#last(): Session | undefined {
		const last = this.#parts.at(-1);
		return last && this.#options.front.sessions.get(last.session);
	}

	#chain(): readonly Link[] {
		return this.#parts.map(({ session, base }) => ({ session: this.#options.front.sessions.get(session), base }));
	}

	#checkOpen(): void {
		if (this.isClosing) throw new SessionError("session_not_found", `pty session ${this.id} is being deleted`);
	}
}

/** The start request of a PTY's program. */
export async function startOf(
	{ cwd, command, id }: Omit<PtyData, "parts">,
	mode: "pty" | "pipe",
	front: OpenSandboxOptions,
): Promise<RequestedStart> {
	const env = await shellEnvironment(front);
	return front.prepare({
		argv: await shellFor(command, env),
		cwd: cwd === "" ? front.cwd : cwd,
		base: env,
		mode,
		...defaultPlacement,
		labels: { [LABEL]: id },
		durable: true,
		retention: { memoryBytes: REPLAY_BYTES },
		drainMs: front.times?.drainMs ?? defaultTimes.drainMs,
	});
}

export function notFound(id: string): SessionError {
	return new SessionError("session_not_found", `pty session ${id.slice(0, 64)} not found`);
}

function isUnavailable(error: unknown): boolean {
	return error instanceof SessionError && error.code === "node_unavailable";
}

async function untilEnded(session: Session | undefined, signal: AbortSignal): Promise<void> {
	if (!session || isEnded(session.state)) return;
	for await (const _ of session.follow("end", { signal }));
}
