/** A client of exec-server that disconnects wherever the Rust client would (contract §9). */

import { Change } from "../../../../../src/core/async/change.ts";
import { type Link, openLink } from "./exec-link.ts";
import { ProcessLog, type ReadAnswer } from "./process-log.ts";

export class RpcFailure extends Error {
	readonly code: number;
	constructor(code: number, message: string) {
		super(message);
		this.code = code;
	}
}

/** The connection ended before the answer arrived. */
export class Disconnected extends Error {}

export type StartOptions = {
	readonly tty?: boolean;
	readonly pipeStdin?: boolean;
	readonly env?: Record<string, string>;
	readonly cwd?: string;
	readonly [name: string]: unknown;
};

const codes = new Set([-32600, -32601, -32602, -32603, -32004, -32010]);
const RETRY_MS = 20;

type Pending = { resolve(value: unknown): void; reject(error: Error): void };

export class ExecClient {
	sessionId: string | undefined;
	readonly processes = new Map<string, ProcessLog>();
	/** All messages of the current connection, unmodified. */
	messages: Record<string, unknown>[] = [];
	/** Violations of the protocol. Tests check at their end that there are none. */
	readonly violations: unknown[] = [];
	#link: Link | undefined;
	#pending = new Map<number, Pending>();
	#nextId = 1;
	#isOpen = false;
	readonly #change = new Change();

	constructor(link?: Link) {
		if (link) this.use(link);
	}

	/** A client after its handshake. */
	static async open(url: string): Promise<ExecClient> {
		const client = new ExecClient(await openLink(url));
		await client.handshake();
		return client;
	}

	get isOpen(): boolean {
		return this.#isOpen;
	}

	use(link: Link): void {
		this.#link = link;
		this.#nextId = 1;
		this.#isOpen = true;
		this.messages = [];
		link.onText = (text) => this.#receive(link, text);
		link.onClosed = () => this.#closed(link);
	}

	async handshake(resumeSessionId: string | null = null): Promise<void> {
		const answer = (await this.request("initialize", { clientName: "test", resumeSessionId })) as { sessionId: string };
		if (resumeSessionId !== null && answer.sessionId !== resumeSessionId) throw new Error("another session");
		this.sessionId = answer.sessionId;
		this.notify("initialized", {});
	}

	request(method: string, params?: unknown): Promise<unknown> {
		const id = this.#nextId++;
		return new Promise((resolve, reject) => {
			if (!this.#isOpen) return reject(new Disconnected());
			this.#pending.set(id, { resolve, reject });
			this.send({ id, method, ...(params === undefined ? {} : { params }) });
		});
	}

	notify(method: string, params?: unknown): void {
		this.send({ method, ...(params === undefined ? {} : { params }) });
	}

	send(message: object | string): void {
		this.#link?.send(typeof message === "string" ? message : JSON.stringify(message));
	}

	cut(): void {
		this.#link?.cut();
	}

	/** Resolves once the connection is closed. */
	async disconnected(): Promise<void> {
		while (this.#isOpen) await this.#change.wait();
	}

	/** Resolves once a message has arrived. */
	async message(isIt: (message: Record<string, unknown>) => boolean): Promise<Record<string, unknown>> {
		const signal = AbortSignal.timeout(20_000);
		for (;;) {
			const found = this.messages.find(isIt);
			if (found) return found;
			if (signal.aborted) throw new Error(`timed out; received ${JSON.stringify(this.messages).slice(0, 2000)}`);
			await this.#change.wait(signal);
		}
	}

	/** Registers the process before it sends the request, as the real client does. */
	async start(processId: string, argv: readonly string[], options: StartOptions = {}): Promise<ProcessLog> {
		const log = new ProcessLog();
		const known = this.processes.get(processId);
		this.processes.set(processId, log);
		try {
			const answer = await this.request("process/start", startParams(processId, argv, options));
			const sandboxType = options.sandbox ? "linuxSeccomp" : "none";
			if (JSON.stringify(answer) !== JSON.stringify({ processId, sandboxType }))
				throw new Error(JSON.stringify(answer));
		} catch (error) {
			if (error instanceof RpcFailure) {
				if (known) this.processes.set(processId, known);
				else this.processes.delete(processId);
			}
			throw error;
		}
		return log;
	}

	async read(processId: string, options: object = {}): Promise<ReadAnswer> {
		const answer = (await this.request("process/read", { processId, ...options })) as ReadAnswer;
		const names = ["chunks", "nextSeq", "exited", "exitCode", "closed", "failure", "sandboxDenied"];
		if (Object.keys(answer).join() !== names.join()) throw new Error(JSON.stringify(answer));
		return answer;
	}

	async write(processId: string, text: string, writeId: string): Promise<string> {
		const chunk = Buffer.from(text).toString("base64");
		return ((await this.request("process/write", { processId, chunk, writeId })) as { status: string }).status;
	}

	async terminate(processId: string): Promise<boolean> {
		return ((await this.request("process/terminate", { processId })) as { running: boolean }).running;
	}

	/** Reconnects as the real client does: the same session, then a read for each process that has not ended. */
	async recover(open: () => Promise<Link>): Promise<void> {
		for (;;) {
			const link = await open();
			for (const log of this.processes.values()) if (!log.isClosed) log.recovering();
			this.use(link);
			try {
				await this.handshake(this.sessionId ?? null);
				break;
			} catch (error) {
				const isAttached = error instanceof RpcFailure && error.code === -32010;
				if (!isAttached) throw error;
				// As the contract says: it retries a little later on another connection.
				this.cut();
				await this.disconnected();
				await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
			}
		}
		for (const [id, log] of this.processes) {
			if (!log.isClosed) log.recovered(await this.read(id, { afterSeq: log.last, maxBytes: null, waitMs: 0 }));
		}
	}

	#receive(link: Link, text: string): void {
		if (link !== this.#link) return;
		try {
			this.#take(text);
		} catch (error) {
			this.violations.push(error);
			link.cut();
		}
	}

	#take(text: string): void {
		const message = JSON.parse(text) as Record<string, unknown>;
		// Repeated names or a form that is not compact would not survive this.
		if (JSON.stringify(message) !== text) throw new Error(`not canonical: ${text.slice(0, 200)}`);
		if ("jsonrpc" in message || Array.isArray(message)) throw new Error("not JSON-RPC of this protocol");
		this.messages.push(message);
		if ("method" in message) this.#notified(message as { method: string; params: Record<string, unknown> });
		else this.#answered(message as { id: number; result?: unknown; error?: { code: number; message: string } });
		this.#change.happen();
	}

	#notified({ method, params, ...rest }: { method: string; params: Record<string, unknown> }): void {
		if (Object.keys(rest).length > 0) throw new Error("a request from the server");
		this.processes.get(String(params.processId))?.notified(method, params);
	}

	#answered(message: { id: number; result?: unknown; error?: { code: number; message: string } }): void {
		const { id, result, error } = message;
		const pending = this.#pending.get(id);
		this.#pending.delete(id);
		if (error && !codes.has(error.code)) throw new Error(`code ${error.code}`);
		if (!pending) {
			if (id !== -1) throw new Error(`an answer to unknown id ${id}`);
		} else if (error) {
			pending.reject(new RpcFailure(error.code, error.message));
		} else if ("result" in message) {
			pending.resolve(result);
		} else throw new Error("neither result nor error");
	}

	#closed(link: Link): void {
		if (link !== this.#link) return;
		this.#isOpen = false;
		const pending = [...this.#pending.values()];
		this.#pending = new Map();
		for (const { reject } of pending) reject(new Disconnected());
		this.#change.happen();
	}
}

export function startParams(processId: string, argv: readonly string[], options: StartOptions = {}): object {
	return {
		processId,
		argv,
		cwd: "file:///tmp",
		env: { PATH: process.env.PATH },
		tty: false,
		...options,
	};
}
