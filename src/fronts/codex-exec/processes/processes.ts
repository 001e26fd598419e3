/** The processes of one client by the names it gave them. */

import type { Session } from "../../../core/session.ts";
import type { Sessions } from "../../../core/sessions.ts";
import { changesWithin } from "../../changes-within.ts";
import { RpcError, rpcCodes } from "../../json-rpc/error.ts";
import { SessionScope } from "../../session-scope.ts";
import type { ExecLimits } from "../limits.ts";
import { ExecProcess, type ProcessOptions, type Watcher, type WriteStatus } from "./process.ts";
import type { ReadResult } from "./retained.ts";

/** A name is taken from the moment somebody asks for it, before the program runs. */
class Starting {
	isCancelled = false;
}

type ReadRequest = {
	readonly processId: string;
	readonly afterSeq: number;
	readonly maxBytes: number | null;
	readonly waitMs: number;
};

export type ProcessesOptions = {
	readonly sessions: Sessions;
	readonly limits: ExecLimits;
	readonly report: (problem: unknown) => void;
};

export class ExecProcesses {
	readonly #options: ProcessesOptions;
	readonly #entries = new Map<string, Starting | ExecProcess>();
	readonly #processes = new Set<ExecProcess>();
	readonly #scope: SessionScope;
	#watcher: Watcher | undefined;

	constructor(options: ProcessesOptions) {
		this.#options = options;
		this.#scope = new SessionScope(options);
	}

	async start(
		id: string,
		kind: Pick<ProcessOptions, "isWritable" | "isSandboxed">,
		launch: () => Promise<Session>,
	): Promise<void> {
		if (this.#entries.has(id)) throw refused(`process ${id} already exists`);
		const starting = new Starting();
		this.#entries.set(id, starting);
		let session: Session;
		try {
			session = await this.#scope.start(launch);
		} catch (error) {
			this.#entries.delete(id);
			throw error;
		}
		if (starting.isCancelled) {
			this.#entries.delete(id);
			void this.#scope.remove(session);
			throw refused(`process ${id} start was cancelled`);
		}
		const { limits, report } = this.#options;
		const onClosed = () => {
			setTimeout(() => void this.#forget(process), limits.closedMs).unref();
		};
		const process = new ExecProcess(id, { ...kind, session, limits, report, onClosed });
		this.#entries.set(id, process);
		this.#processes.add(process);
		const watcher = this.#watcher;
		// The answer goes out in this turn; what the process has to say comes after it.
		setImmediate(() => {
			if (watcher && watcher === this.#watcher) process.watch(watcher, 1);
		});
	}

	/** Answers at once, or when something happens that the reader can't know yet, or when its time is over. */
	async read({ processId, afterSeq, maxBytes, waitMs }: ReadRequest, signal: AbortSignal): Promise<ReadResult> {
		const deadline = performance.now() + waitMs;
		for (;;) {
			const process = this.#entries.get(processId);
			if (process === undefined) throw refused(`unknown process id ${processId}`);
			if (process instanceof Starting) throw refused(`process id ${processId} is starting`);
			const result = process.events.read(afterSeq, maxBytes);
			const isNews = result.chunks.length > 0 || result.closed || (result.exited && afterSeq < result.nextSeq - 1);
			const leftMs = deadline - performance.now();
			if (isNews || leftMs <= 0 || signal.aborted) return result;
			// Nothing is awaited between finding nothing and waiting, so no event is missed.
			await changesWithin(process.changed, leftMs, signal);
		}
	}

	async write(
		{ processId, writeId }: { readonly processId: string; readonly writeId: string },
		bytes: Uint8Array,
		signal: AbortSignal,
	): Promise<WriteStatus> {
		const process = this.#entries.get(processId);
		if (process === undefined) return "unknownProcess";
		return process instanceof Starting ? "starting" : process.write(writeId, bytes, signal);
	}

	async interrupt(id: string): Promise<void> {
		const process = this.#entries.get(id);
		if (process instanceof ExecProcess) await process.interrupt();
	}

	/** Whether there was something to end. */
	terminate(id: string): boolean {
		const process = this.#entries.get(id);
		if (!(process instanceof Starting)) return process?.terminate() ?? false;
		process.isCancelled = true;
		return true;
	}

	/** From here on a connection is told what happens; nothing of what happened before. */
	attach(watcher: Watcher): void {
		this.#watcher = watcher;
		for (const process of this.#processes) process.watch(watcher, process.events.next);
	}

	detach(): void {
		this.#watcher = undefined;
		for (const process of this.#processes) process.unwatch();
	}

	/** Ends what runs and forgets everything. */
	async end(): Promise<void> {
		this.detach();
		const processes = [...this.#processes];
		this.#processes.clear();
		this.#entries.clear();
		for (const process of processes) {
			process.terminate();
			process.changed.happen();
		}
		await this.#scope.end();
	}

	async #forget(process: ExecProcess): Promise<void> {
		if (!this.#processes.delete(process)) return;
		if (this.#entries.get(process.id) === process) this.#entries.delete(process.id);
		process.changed.happen();
		await this.#scope.remove(process.session);
	}
}

function refused(message: string): RpcError {
	return new RpcError(rpcCodes.invalidRequest, message);
}
