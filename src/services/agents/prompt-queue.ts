/**
 * Prompts that wait until their session's agent is idle. Each session's queue is a file, so that it outlives the server.
 * One prompt is submitted at a time; the next one waits for the end of its turn.
 */

import { randomBytes } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { AgentMessage, QueuedPrompt } from "../../api/types.ts";
import { sleep } from "../../async/sleep.ts";
import { Listeners } from "../../core/async/listeners.ts";
import { SessionError } from "../../core/errors.ts";
import { isEnded } from "../../core/log/session-state.ts";
import type { Audit } from "../../core/policy/audit.ts";
import { AuditedCaller } from "../../core/policy/audited-caller.ts";
import type { Session } from "../../core/session/session.ts";
import type { Sessions } from "../../core/session/session-registry.ts";
import { JsonFile } from "../../disk/json-file.ts";
import { makePrivateDirectory } from "../../disk/private-directory.ts";
import { AgentTyping } from "./agent-typing.ts";
import type { Agents } from "./agents.ts";
import { promptAgent, promptText } from "./prompt.ts";

/** @limit prompts that wait in one session | `limit_exceeded` */
const MAX_PROMPTS = 32;
/** @limit the text of the prompts that wait in one session | `limit_exceeded` */
const MAX_BYTES = 1024 * 1024;
/** A prompt that an idle agent does not take is tried again after this time. */
const AGAIN_MS = 5_000;
/** An agent that is idle for this long takes the next prompt: some rest for a moment between two steps. */
const IDLE_MS = 1_000;
const ENDING = ".json";
const ID_BYTES = 6;

/** `owner` is the id of the caller's credential. */
type Entry = QueuedPrompt & {
	readonly owner: string;
	/** Submissions that failed after text was typed. Each has an input stream of its own, by which the next server knows what was typed. */
	readonly failures?: number;
};

type QueueOptions = {
	/** Contains nothing else. Without it, queues end with the server. */
	readonly directory: string | undefined;
	readonly sessions: Sessions;
	readonly now: () => number;
	readonly agents: Agents;
	readonly audit: Audit;
	/** Whether a credential has ended. Its prompts are removed. */
	readonly isRevoked: (owner: string) => boolean;
	readonly report: (problem: unknown) => void;
};

export class PromptQueue {
	readonly #options: QueueOptions;
	readonly #entries = new Map<string, readonly Entry[]>();
	readonly #files = new Map<string, JsonFile>();
	readonly #running = new Map<string, AbortController>();
	/** Prompts that are being typed, by their sessions. */
	readonly #typing = new Map<string, string>();
	readonly #listeners = new Listeners<string>();
	readonly #closing = new AbortController();
	readonly #opened: Promise<void>;

	constructor(options: QueueOptions) {
		this.#options = options;
		this.#opened = this.#open().catch(options.report);
		options.sessions.watch(({ kind, session }) => {
			if (kind === "removed" || isEnded(session.state)) void this.#remove(session.id);
		});
	}

	/** The number of prompts that wait in a session. */
	count(id: string): number {
		return this.#entries.get(id)?.length ?? 0;
	}

	/** Calls back with the ID of a session whose queue has changed, until the returned function is called. */
	watch(listener: (id: string) => void): () => void {
		return this.#listeners.add(listener);
	}

	async list({ id }: Session): Promise<QueuedPrompt[]> {
		await this.#opened;
		return (this.#entries.get(id) ?? []).map(toMessage);
	}

	/** Resolves once the prompt is stored. */
	async add(
		session: Session,
		text: string,
		{ id, name }: { readonly id: string; readonly name: string },
	): Promise<QueuedPrompt> {
		promptText(text);
		await this.#opened;
		const before = this.#entries.get(session.id) ?? [];
		const bytes = before.reduce((sum, entry) => sum + Buffer.byteLength(entry.text), Buffer.byteLength(text));
		if (bytes > MAX_BYTES) {
			throw new SessionError("limit_exceeded", `the prompts that wait in this session exceed ${MAX_BYTES} bytes`, {
				hint: "cancel one, or wait until the agent is idle",
			});
		}
		if (before.length >= MAX_PROMPTS) {
			throw new SessionError("limit_exceeded", `too many prompts wait in this session (limit ${MAX_PROMPTS})`, {
				hint: "cancel one, or wait until the agent is idle",
			});
		}
		const entry = {
			id: `p_${randomBytes(ID_BYTES).toString("hex")}`,
			text,
			by: name,
			owner: id,
			queuedAt: this.#options.now(),
		};
		try {
			await this.#put(session.id, [...before, entry]);
		} catch (error) {
			await this.#drop(session.id, entry.id).catch(() => {});
			throw error;
		}
		this.#begin(session);
		return toMessage(entry);
	}

	/** Rejects with `not_found` once the prompt was submitted or cancelled, and with `conflict` while it is typed. */
	async cancel(session: Session, id: string): Promise<void> {
		await this.#opened;
		if (!this.#entries.get(session.id)?.some((entry) => entry.id === id)) {
			throw new SessionError("not_found", `there is no queued prompt ${JSON.stringify(id)}`);
		}
		if (this.#typing.get(session.id) === id) {
			throw new SessionError("conflict", "the prompt is being typed, so it can't be cancelled");
		}
		await this.#drop(session.id, id);
	}

	#drop(session: string, id: string): Promise<void> {
		const before = this.#entries.get(session) ?? [];
		return this.#put(
			session,
			before.filter((entry) => entry.id !== id),
		);
	}

	close(): void {
		this.#closing.abort();
	}

	async #open(): Promise<void> {
		const { directory, sessions } = this.#options;
		if (directory === undefined) return;
		await makePrivateDirectory(directory);
		for (const name of await readdir(directory)) {
			if (!name.endsWith(ENDING)) continue;
			const id = name.slice(0, -ENDING.length);
			const session = sessions.get(id);
			const stored = await this.#file(id)?.read();
			if (!session || isEnded(session.state) || !isQueue(stored)) await this.#file(id)?.remove();
			else {
				this.#entries.set(id, stored);
				this.#begin(session);
			}
		}
	}

	#file(id: string): JsonFile | undefined {
		const { directory } = this.#options;
		if (directory === undefined) return undefined;
		// One object for each file, which does its writes in order.
		const file = this.#files.get(id) ?? new JsonFile(join(directory, `${id}${ENDING}`));
		this.#files.set(id, file);
		return file;
	}

	async #put(id: string, entries: readonly Entry[]): Promise<void> {
		if (entries.length === 0) return this.#remove(id);
		this.#entries.set(id, entries);
		this.#listeners.notify(id);
		await this.#file(id)?.write(entries);
	}

	async #remove(id: string): Promise<void> {
		if (!this.#entries.delete(id)) return;
		this.#running.get(id)?.abort();
		this.#listeners.notify(id);
		await this.#file(id)?.remove().catch(this.#options.report);
		if (!this.#entries.has(id)) this.#files.delete(id);
	}

	/** Submits the session's prompts, one after the other. */
	#begin(session: Session): void {
		if (this.#running.has(session.id)) return;
		const over = new AbortController();
		this.#running.set(session.id, over);
		const signal = AbortSignal.any([over.signal, this.#closing.signal]);
		void this.#run(session, signal)
			.catch((error: unknown) => {
				if (!signal.aborted) this.#options.report(error);
			})
			.finally(() => {
				this.#running.delete(session.id);
				// A prompt may have come after the last one was removed.
				if (this.#entries.has(session.id) && !this.#closing.signal.aborted) this.#begin(session);
			});
	}

	async #run(session: Session, signal: AbortSignal): Promise<void> {
		for (let next = this.#next(session.id); next && !signal.aborted; next = this.#next(session.id)) {
			await this.#untilIdle(session, signal);
			if (signal.aborted) return;
			const isTyped = async () => (await session.receipt(streamOf(next))).next > 0;
			let wasTyped = true;
			try {
				wasTyped = await isTyped();
				await this.#options.agents.inTurn(session, () => this.#submit(session, next, signal));
			} catch (error) {
				if (signal.aborted) return;
				if (!(error instanceof SessionError)) this.#options.report(error);
				// What this server has typed in vain is typed again. What an earlier one has typed may have been submitted.
				if (!wasTyped && (await isTyped().catch(() => false))) await this.#noteFailure(session, next);
				await sleep(AGAIN_MS, signal);
			}
		}
	}

	async #noteFailure({ id }: Session, failed: Entry): Promise<void> {
		const failures = (failed.failures ?? 0) + 1;
		const all = (this.#entries.get(id) ?? []).map((entry) => (entry.id === failed.id ? { ...entry, failures } : entry));
		await this.#put(id, all);
	}

	/** Types the next prompt as its owner, unless it was cancelled. The owner's rights were checked when it was queued. */
	async #submit(session: Session, entry: Entry, signal: AbortSignal): Promise<void> {
		const { agents, audit, isRevoked } = this.#options;
		const { id, text, owner, by } = entry;
		if (this.#next(session.id)?.id !== id || signal.aborted) return;
		if (isRevoked(owner)) return this.#drop(session.id, id);
		const identity = { id: owner, account: owner, name: by, gate: null, revoked: signal, may: () => true };
		const caller = new AuditedCaller(audit, { from: "server", front: "native" }, identity, () => null);
		const audited = (one: Session) => caller.session(one);
		const typing = new AgentTyping({ session, view: agents.view(session), audited, fence: undefined, signal });
		this.#typing.set(session.id, id);
		try {
			await promptAgent(typing, text, streamOf(entry));
			await this.#drop(session.id, id);
			session.forgetStream(streamOf(entry)).catch(() => {});
		} finally {
			this.#typing.delete(session.id);
		}
	}

	#next(id: string): Entry | undefined {
		return this.#entries.get(id)?.[0];
	}

	async #untilIdle(session: Session, signal: AbortSignal): Promise<void> {
		for (;;) {
			for await (const agent of this.#options.agents.follow(session, signal)) if (isIdle(agent)) break;
			await sleep(IDLE_MS, signal);
			for await (const agent of this.#options.agents.follow(session, signal)) {
				if (isIdle(agent) || signal.aborted) return;
				break;
			}
			if (signal.aborted) return;
		}
	}
}

function streamOf({ id, failures = 0 }: Entry): string {
	return `prompt:${id}:${failures}`;
}

function isIdle(agent: AgentMessage | null): boolean {
	return agent?.state === "idle" || agent?.state === "done";
}

function toMessage({ id, text, by, queuedAt }: Entry): QueuedPrompt {
	return { id, text, by, queuedAt };
}

function isQueue(stored: unknown): stored is readonly Entry[] {
	return Array.isArray(stored) && stored.every(isEntry);
}

function isEntry(value: unknown): value is Entry {
	if (typeof value !== "object" || value === null) return false;
	const { id, text, by, owner, queuedAt } = value as Partial<Record<keyof Entry, unknown>>;
	return [id, text, by, owner].every((one) => typeof one === "string") && typeof queuedAt === "number";
}
