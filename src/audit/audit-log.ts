/**
 * The record of who did what, on disk. Nobody waits for it: entries go into a queue that has a bound, and are written
 * from there, one batch at a time. While the disk takes nothing they wait; what no longer fits is counted, and the
 * count is written in its place once the disk takes something again.
 *
 * A line is given to the kernel within milliseconds, so that a server that is killed loses what it was just gathering
 * (see `merge.ts`) and no more; the disk confirms it within a second, or before the next is written.
 */

import { createHash } from "node:crypto";
import type { AuditEntry, AuditPage, AuditQuery, AuditStatus, AuditTrail } from "../core/audit.ts";
import type { Clock } from "../core/clock.ts";
import { AuditFiles, type Content } from "./audit-files.ts";
import { cut } from "./cut.ts";
import { GENESIS } from "./line.ts";
import { type Gathered, Merger } from "./merge.ts";
import { Queue } from "./queue.ts";
import { readPage } from "./read.ts";

/** A power cut loses this much at most, unless it is told to lose nothing. */
const SYNC_MS = 1_000;
const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 30_000;

export type AuditLogOptions = {
	readonly directory: string;
	readonly maxBytes: number;
	readonly fsync: "interval" | "always";
	readonly clock: Clock;
	/** Hears once when nothing can be written any more, and once when it can. */
	readonly report: (problem: unknown) => void;
};

export class AuditLog implements AuditTrail {
	readonly #options: AuditLogOptions;
	readonly #merger: Merger;
	#files: AuditFiles | undefined;
	readonly #queue = new Queue();
	#writing: Promise<void> | undefined;
	#retryMs = FIRST_RETRY_MS;
	#cancelRetry: (() => void) | undefined;
	/** Whether a timer runs after which the disk is to confirm what was written; and whether that is now. */
	#isSyncDue = false;
	#isSyncWanted = false;
	#isHealthy = true;
	#isClosed = false;
	#written = 0;

	/** Never rejects: a server must start whatever became of its disk. */
	static async open(options: AuditLogOptions): Promise<AuditLog> {
		const log = new AuditLog(options);
		await log.#write();
		return log;
	}

	private constructor(options: AuditLogOptions) {
		this.#options = options;
		this.#merger = new Merger(options.clock, (gathered) => this.#enqueue(contentOf(gathered)));
	}

	get status(): AuditStatus {
		return { isHealthy: this.#isHealthy, written: this.#written, lost: this.#queue.lost };
	}

	/** When the last line was written before this server; undefined if nobody knows. */
	get lastTime(): number | undefined {
		return this.#files?.lastTime;
	}

	record(entry: AuditEntry): void {
		if (!this.#isClosed) this.#merger.add(cut(entry));
	}

	/** Everything up to now is in it, if the disk takes it. */
	async read(query: AuditQuery): Promise<AuditPage> {
		this.#merger.flush();
		await this.#write();
		return readPage(this.#options.directory, query, this.#files?.head ?? GENESIS);
	}

	/** Resolves when everything is on disk, or that was tried once more in vain. */
	async close(): Promise<void> {
		this.#merger.flush();
		this.#isClosed = true;
		this.#cancelRetry?.();
		await this.#write();
		this.#cancelRetry?.();
		await this.#files?.close().catch((error: unknown) => this.#failed(error));
		this.#files = undefined;
	}

	#enqueue(content: Content): void {
		this.#queue.add(content);
		// Not while it waits for a disk that failed.
		if (this.#cancelRetry === undefined) void this.#write();
	}

	/** Resolves when nothing waits any more, or the disk does not take it. */
	async #write(): Promise<void> {
		this.#writing ??= this.#writeAll().finally(() => {
			this.#writing = undefined;
		});
		await this.#writing;
	}

	async #writeAll(): Promise<void> {
		this.#cancelRetry?.();
		this.#cancelRetry = undefined;
		try {
			this.#files ??= await this.#open();
			// One after the other, because a file that is full is closed, whoever is still at work on it.
			while (!this.#queue.isEmpty || this.#isSyncWanted) {
				if (!this.#queue.isEmpty) await this.#writeBatch(this.#files);
				if (this.#options.fsync !== "always" && !this.#isSyncWanted) continue;
				this.#isSyncWanted = false;
				await this.#files.sync();
			}
			this.#recovered();
		} catch (error) {
			this.#failed(error);
		}
	}

	async #writeBatch(files: AuditFiles): Promise<void> {
		const batch = this.#queue.take();
		let taken = 0;
		try {
			taken = await files.append(batch.map(({ content }) => content));
		} finally {
			this.#queue.giveBack(batch.slice(taken));
		}
		this.#written += taken;
		this.#syncSoon();
	}

	async #open(): Promise<AuditFiles> {
		const { directory, maxBytes, clock, report } = this.#options;
		const files = await AuditFiles.open({ directory, maxBytes, now: () => clock.now(), report });
		if (files.fault !== undefined) report(new Error(`the audit is not as it was written: ${files.fault}`));
		return files;
	}

	#syncSoon(): void {
		if (this.#isSyncDue || this.#options.fsync === "always") return;
		this.#isSyncDue = true;
		this.#options.clock.after(SYNC_MS, () => {
			this.#isSyncDue = false;
			// What is closed was confirmed then.
			if (this.#isClosed) return;
			this.#isSyncWanted = true;
			void this.#write();
		});
	}

	#failed(error: unknown): void {
		if (this.#isHealthy)
			this.#options.report(new Error("the audit can't be written; sessions go on", { cause: error }));
		this.#isHealthy = false;
		if (this.#isClosed || this.#cancelRetry) return;
		this.#cancelRetry = this.#options.clock.after(this.#retryMs, () => {
			this.#cancelRetry = undefined;
			void this.#write();
		});
		this.#retryMs = Math.min(2 * this.#retryMs, MAX_RETRY_MS);
	}

	#recovered(): void {
		this.#retryMs = FIRST_RETRY_MS;
		if (this.#isHealthy) return;
		this.#isHealthy = true;
		this.#options.report(new Error(`the audit is written again; ${this.#queue.lost} entries were lost so far`));
	}
}

/** The name of an input stream is known to its client alone, and must stay so: it is told apart by a mark. */
function contentOf({ entry: { by, ...entry }, time, count, isVarious }: Gathered): Content {
	const stream = entry.action === "input" && entry.stream !== undefined ? { stream: markOf(entry.stream) } : {};
	const { action, session, workspace, ...details } = entry;
	return {
		time,
		action,
		by,
		...(workspace === undefined ? {} : { workspace }),
		...(session === undefined ? {} : { session }),
		...details,
		...stream,
		...(count === 1 ? {} : { count }),
		...(isVarious ? { various: true } : {}),
	};
}

function markOf(stream: string): string {
	return createHash("sha256").update(stream).digest("hex").slice(0, 8);
}
