/**
 * The audit on disk. Callers do not wait for it: entries go into a bounded queue and are written in batches. While the
 * disk fails, they stay in the queue. Entries that do not fit are counted, and the count is written in their place later.
 *
 * An entry reaches the kernel within milliseconds, so a killed server loses only what it was merging at that time (see
 * `merge-entries.ts`). The disk confirms entries within a second.
 */

import { createHash } from "node:crypto";
import { diskRetryDelay } from "../async/retry-delay.ts";
import type { Clock } from "../core/async/clock.ts";
import type { AuditEntry, AuditPage, AuditQuery, AuditStatus, AuditTrail } from "../core/policy/audit.ts";
import { AuditFiles, type Content } from "./audit-files.ts";
import { GENESIS } from "./chained-line.ts";
import { type MergedEntry, Merger } from "./merge-entries.ts";
import { readPage } from "./read-page.ts";
import { truncateFields } from "./truncate-fields.ts";
import { WriteQueue } from "./write-queue.ts";

/** A power failure loses at most this much, unless every entry is to be synced. */
const SYNC_MS = 1_000;

export type AuditLogOptions = {
	readonly directory: string;
	readonly maxBytes: number;
	readonly fsync: "interval" | "always";
	readonly clock: Clock;
	/** Called once when the audit can't be written any more, and once when it can again. */
	readonly report: (problem: unknown) => void;
};

export class AuditLog implements AuditTrail {
	readonly #options: AuditLogOptions;
	readonly #merger: Merger;
	#files: AuditFiles | undefined;
	readonly #queue = new WriteQueue();
	#writing: Promise<void> | undefined;
	readonly #retryDelay = diskRetryDelay();
	#cancelRetry: (() => void) | undefined;
	/** Whether a sync is scheduled, and whether it is due now. */
	#isSyncDue = false;
	#isSyncWanted = false;
	#isHealthy = true;
	#isClosed = false;
	#written = 0;

	/** Never rejects, because a server must start whatever happened to its disk. */
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

	/** Time of the last entry before this server; undefined if unknown. */
	get lastTime(): number | undefined {
		return this.#files?.lastTime;
	}

	record(entry: AuditEntry): void {
		if (!this.#isClosed) this.#merger.add(truncateFields(entry));
	}

	/** Includes all entries so far, if they could be written. */
	async read(query: AuditQuery): Promise<AuditPage> {
		this.#merger.flush();
		await this.#write();
		return readPage(this.#options.directory, query, this.#files?.head ?? GENESIS);
	}

	/** Resolves when everything is on disk, or a last attempt has failed. */
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
		// A failed write waits for its retry.
		if (this.#cancelRetry === undefined) void this.#write();
	}

	/** Resolves when the queue is empty or the disk fails. */
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
			// One at a time, because a full file is closed while others might still use it.
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
		if (files.fault !== undefined) report(new Error(`the audit was damaged or changed: ${files.fault}`));
		return files;
	}

	#syncSoon(): void {
		if (this.#isSyncDue || this.#options.fsync === "always") return;
		this.#isSyncDue = true;
		this.#options.clock.after(SYNC_MS, () => {
			this.#isSyncDue = false;
			// close() has synced.
			if (this.#isClosed) return;
			this.#isSyncWanted = true;
			void this.#write();
		});
	}

	#failed(error: unknown): void {
		if (this.#isHealthy)
			this.#options.report(new Error("the audit can't be written; sessions are not affected", { cause: error }));
		this.#isHealthy = false;
		if (this.#isClosed || this.#cancelRetry) return;
		this.#cancelRetry = this.#options.clock.after(this.#retryDelay.next(), () => {
			this.#cancelRetry = undefined;
			void this.#write();
		});
	}

	#recovered(): void {
		this.#retryDelay.reset();
		if (this.#isHealthy) return;
		this.#isHealthy = true;
		this.#options.report(
			new Error(`the audit can be written again; ${this.#queue.lost} entries have been lost so far`),
		);
	}
}

/** The name of an input stream is a secret of its client, so a digest stands for it. */
function contentOf({ entry: { by, ...entry }, time, count, isVarious }: MergedEntry): Content {
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
