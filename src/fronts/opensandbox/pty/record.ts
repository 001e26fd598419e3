/**
 * A PTY as its clients know it: it outlives its programs, of which it has one at a time, and its
 * connections, of which one at a time holds it. Only the holder starts a program, so that no two can.
 */

import { SessionError } from "../../../core/errors.ts";
import type { FollowOptions, Session } from "../../../core/session.ts";
import { isEnded } from "../../../core/state.ts";
import type { Witness } from "../../../core/witness.ts";
import type { OpenSandboxOptions } from "../options.ts";
import { here } from "../options.ts";
import { shellEnvironment, shellFor } from "../shell.ts";
import { Holder } from "../socket/holder.ts";
import { defaultTimes } from "../times.ts";
import { type Link, PtyReader, REPLAY_BYTES } from "./stream.ts";

/** Which PTY a session belongs to. */
const LABEL = "opensandbox.pty";

/** What is kept of a PTY on disk: what was asked for, and which session began where in its stream. */
export type PtyData = {
	readonly id: string;
	/** The server's own, if empty. */
	readonly cwd: string;
	/** An interactive shell, if empty. */
	readonly command: string;
	readonly parts: readonly PtyPart[];
};

export type PtyPart = { readonly session: string; readonly base: number };

export type PtyStatus = { readonly isRunning: boolean; readonly total: number };

/** One attachment: the program it is to, and its output. */
export type PtyAttachment = { readonly session: Session; readonly reader: PtyReader };

type PtyRecordOptions = {
	readonly front: OpenSandboxOptions;
	/** Makes all records outlive a crash of the server. */
	readonly save: () => Promise<void>;
	readonly report: (problem: unknown) => void;
};

export class PtyRecord {
	readonly holder: Holder = new Holder();
	readonly #options: PtyRecordOptions;
	readonly #asked: Omit<PtyData, "parts">;
	#parts: readonly PtyPart[];
	/** The most that anybody was told of, so that the count never goes back. */
	#seen = 0;
	/** Who deletes it, once somebody does. */
	#closing: Witness | undefined;

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

	/** Whether it was deleted. */
	get isClosing(): boolean {
		return this.#closing !== undefined;
	}

	/** All that there is of its programs, also of those whose output nobody is given any more. */
	get sessions(): readonly Session[] {
		return this.#options.front.sessions.list().filter((session) => this.#isOurs(session));
	}

	/** One look at the last program, so that its two halves belong together. If its keeper is silent, as far as it is known. */
	async status(): Promise<PtyStatus> {
		const base = this.#parts.at(-1)?.base ?? 0;
		const info = await this.#last()?.info();
		return { isRunning: info?.status === "running", total: this.#atLeast(base + (info?.offsets.end ?? 0)) };
	}

	/** For the holder: starts a program unless one runs, and asks `allow` before. */
	async ensureRunning(
		mode: "pty" | "pipe",
		options: { allow: () => void; witness: Witness; signal: AbortSignal },
	): Promise<void> {
		if ((await this.status()).isRunning) return;
		options.allow();
		// Its last bytes may still be on their way, and the next program's come after them.
		await untilEnded(this.#last(), options.signal);
		const total = await this.#total();
		// Nobody is there any more to start it for.
		if (!options.signal.aborted) await this.#start(mode, total, options.witness);
	}

	/** Begins to read, at the end of the past that there is now. */
	async attach(since: number, options: FollowOptions & { signal: AbortSignal }): Promise<PtyAttachment> {
		const total = await this.#total();
		const session = this.#last();
		if (!session) throw notFound(this.id);
		return { session, reader: new PtyReader(this.#chain(), { since, total }, options) };
	}

	/** Ends everything, for who may, and nothing can begin after it. The death of the program is not waited for. */
	close(witness: Witness): void {
		this.#closing = witness;
		for (const session of this.sessions) this.#remove(session, witness);
	}

	/** Where its output ends, however late its keeper says so: from an older end a reader would be given bytes again. */
	async #total(): Promise<number> {
		const base = this.#parts.at(-1)?.base ?? 0;
		const end = await this.#last()?.end();
		return this.#atLeast(base + (end?.offset ?? 0));
	}

	#atLeast(total: number): number {
		this.#seen = Math.max(this.#seen, total);
		return this.#seen;
	}

	async #start(mode: "pty" | "pipe", base: number, witness: Witness): Promise<void> {
		const { front, save } = this.#options;
		const { cwd, command, id } = this.#asked;
		const env = await shellEnvironment(front);
		const start = front.prepare({
			argv: await shellFor(command, env),
			cwd: cwd === "" ? front.cwd : cwd,
			base: env,
			mode,
			...here,
			labels: { [LABEL]: id },
			durable: true,
			retention: { memoryBytes: REPLAY_BYTES },
			drainMs: front.times?.drainMs ?? defaultTimes.drainMs,
		});
		this.#checkOpen();
		const before = this.#parts;
		this.#parts = [...this.#readable(base), { session: start.spec.id, base }];
		try {
			// Before it starts: a crash in between leaves a part without a session, never a session without a record.
			await save();
			const session = await witness.create(front.sessions, start);
			// Who deletes us now could not see it before.
			if (this.#closing) this.#remove(session, this.#closing);
		} catch (error) {
			this.#parts = before;
			throw error;
		}
		this.#checkOpen();
	}

	/** The parts that a client can still be given something of; the others are forgotten, but what they left running lives on. */
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
		return spec.labels[LABEL] === this.id && spec.workspace === here.workspace;
	}

	#remove(session: Session, witness: Witness): void {
		const { front, report } = this.#options;
		// At once, and before anything is waited for; to remove it would ask nicely first.
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

export function notFound(id: string): SessionError {
	return new SessionError("session_not_found", `pty session ${id.slice(0, 64)} not found`);
}

async function untilEnded(session: Session | undefined, signal: AbortSignal): Promise<void> {
	if (!session || isEnded(session.state)) return;
	for await (const _ of session.follow("end", { signal }));
}
