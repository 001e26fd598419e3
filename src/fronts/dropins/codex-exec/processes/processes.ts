/** The processes of one client, by the client's names. */

import { nextWithin } from "../../../../core/async/changes-within.ts";
import type { Session } from "../../../../core/session/session.ts";
import type { Sessions } from "../../../../core/session/session-registry.ts";
import { SessionScope } from "../../../../services/starts/session-scope.ts";
import { RpcError, rpcCodes } from "../../../json-rpc/errors.ts";
import type { ExecLimits } from "../limits.ts";
import type { ReadResult } from "./events.ts";
import { ExecProcess, type ProcessEventSink, type ProcessOptions, type WriteStatus } from "./process.ts";

/** Reserves a name while the program is being started. */
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
	#sink: ProcessEventSink | undefined;

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
		const sink = this.#sink;
		// The answer is sent in this turn, the first event after it.
		setImmediate(() => {
			if (sink && sink === this.#sink) process.watch(sink, 1);
		});
	}

	/** Answers at once if there is news for this reader; otherwise waits for an event or the deadline. */
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
			// Nothing is awaited between the check and the wait, so no event is missed.
			await nextWithin(process.changed, leftMs, signal);
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

	/** Whether there was anything to end. */
	terminate(id: string): boolean {
		const process = this.#entries.get(id);
		if (!(process instanceof Starting)) return process?.terminate() ?? false;
		process.isCancelled = true;
		return true;
	}

	/** Notifies this connection of events from now on. */
	attach(sink: ProcessEventSink): void {
		this.#sink = sink;
		for (const process of this.#processes) process.watch(sink, process.events.next);
	}

	detach(): void {
		this.#sink = undefined;
		for (const process of this.#processes) process.unwatch();
	}

	/** Ends all processes and forgets them. */
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
