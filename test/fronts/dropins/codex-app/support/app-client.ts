/**
 * A client of app-server that records all messages and notices violations of the protocol (contract §2.4, §2.6, §5).
 */

import { Change } from "../../../../../src/core/async/change.ts";
import type { Link } from "../../codex-exec/support/exec-link.ts";

export class RpcFailure extends Error {
	readonly code: number;
	constructor(code: number, message: string) {
		super(message);
		this.code = code;
	}
}

export type Answer = { readonly exitCode: number; readonly stdout: string; readonly stderr: string };

export type Exited = {
	readonly exitCode: number;
	readonly outputDrainTimedOut: boolean;
	readonly stdout: string;
	readonly stdoutCapReached: boolean;
	readonly stderr: string;
	readonly stderrCapReached: boolean;
};

type DeltaParams = {
	readonly processId?: string;
	readonly processHandle?: string;
	readonly stream: "stdout" | "stderr";
	readonly deltaBase64: string;
	readonly capReached: boolean;
};

type Incoming = {
	readonly id?: number | string;
	readonly method?: string;
	readonly params?: Record<string, unknown>;
	readonly result?: unknown;
	readonly error?: { readonly code: number; readonly message: string };
	readonly emittedAtMs?: number;
};

/** The output of a program as reported. */
export class Deltas {
	readonly chunks = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
	readonly capped = { stdout: false, stderr: false };
	/** The answer or `process/exited` has arrived. */
	isOver = false;
	/** The client knows that the program runs. */
	isHeard: boolean;

	constructor(isHeard: boolean) {
		this.isHeard = isHeard;
	}

	text(stream: "stdout" | "stderr" = "stdout"): string {
		return Buffer.concat(this.chunks[stream]).toString();
	}
}

type Pending = { resolve(value: unknown): void; reject(error: Error): void; over(): void };

const WAIT_MS = 20_000;

export class AppClient {
	/** All messages in order. */
	readonly messages: Incoming[] = [];
	/** Violations of the protocol. Tests check at their end that there are none. */
	readonly violations: unknown[] = [];
	readonly #link: Link;
	readonly #pending = new Map<number | string, Pending[]>();
	readonly #deltas = new Map<string, Deltas>();
	readonly #exits = new Map<string, Exited>();
	readonly #change = new Change();
	#nextId = 1;
	#isOpen = true;

	constructor(link: Link) {
		this.#link = link;
		link.onText = (text) => this.#receive(text);
		link.onClosed = () => {
			this.#isOpen = false;
			for (const pending of [...this.#pending.values()].flat()) pending.reject(new Error("disconnected"));
			this.#change.happen();
		};
	}

	get isOpen(): boolean {
		return this.#isOpen;
	}

	async initialize(capabilities: object | null = null): Promise<this> {
		await this.request("initialize", {
			clientInfo: { name: "test", title: null, version: "1.2.3" },
			capabilities,
		});
		this.send({ method: "initialized" });
		return this;
	}

	send(message: object | string): void {
		this.#link.send(typeof message === "string" ? message : JSON.stringify(message));
	}

	request(method: string, params?: unknown, id: number | string = this.#nextId++): Promise<unknown> {
		return this.post(JSON.stringify({ id, method, ...(params === undefined ? {} : { params }) }));
	}

	/** Sends a request unmodified. */
	post(text: string): Promise<unknown> {
		const { id = "", method = "", params = {} } = JSON.parse(text) as Incoming;
		return new Promise((resolve, reject) => {
			if (!this.#isOpen) return reject(new Error("disconnected"));
			// The same id may be in use twice. The order of its answers is undefined then.
			const pending = { resolve, reject, over: this.#listen(method, params) };
			this.#pending.set(id, [...(this.#pending.get(id) ?? []), pending]);
			this.send(text);
		});
	}

	exec(command: readonly string[], params: Record<string, unknown> = {}): Promise<Answer> {
		return this.request("command/exec", { command, ...params }) as Promise<Answer>;
	}

	sh(script: string, params: Record<string, unknown> = {}): Promise<Answer> {
		return this.exec(["/bin/sh", "-c", script], params);
	}

	write(processId: string, text: string | Buffer | null, closeStdin = false): Promise<unknown> {
		const deltaBase64 = text === null ? null : Buffer.from(text).toString("base64");
		return this.request("command/exec/write", { processId, deltaBase64, closeStdin });
	}

	terminate(processId: string): Promise<unknown> {
		return this.request("command/exec/terminate", { processId });
	}

	resize(processId: string, rows: number, cols: number): Promise<unknown> {
		return this.request("command/exec/resize", { processId, size: { rows, cols } });
	}

	spawn(processHandle: string, command: readonly string[], params: object = {}): Promise<unknown> {
		return this.request("process/spawn", { command, processHandle, cwd: "/tmp", ...params });
	}

	async exited(processHandle: string): Promise<Exited> {
		return this.until(() => this.#exits.get(processHandle));
	}

	deltas(processId: string): Deltas {
		return this.#deltas.get(processId) ?? new Deltas(true);
	}

	handleDeltas(processHandle: string): Deltas {
		return this.deltas(handleKey(processHandle));
	}

	/** Resolves once the program's output contains this. */
	async output(processId: string, part: string, stream: "stdout" | "stderr" = "stdout"): Promise<string> {
		return this.until(() => {
			const text = this.deltas(processId).text(stream);
			return text.includes(part) ? text : undefined;
		});
	}

	cut(): void {
		this.#link.cut();
	}

	async disconnected(): Promise<void> {
		await this.until(() => (this.#isOpen ? undefined : true));
	}

	/** Resolves with the first defined value. */
	async until<T>(find: () => T | undefined): Promise<T> {
		const signal = AbortSignal.timeout(WAIT_MS);
		for (;;) {
			const found = find();
			if (found !== undefined) return found;
			if (signal.aborted) throw new Error(`timed out; received ${JSON.stringify(this.messages).slice(-2000)}`);
			await this.#change.wait(signal);
		}
	}

	/** Registers a program before its start. Returns the function that handles the answer. */
	#listen(method: string, { processId, processHandle }: Record<string, unknown>): () => void {
		const isCommand = method === "command/exec" && typeof processId === "string";
		const isProcess = method === "process/spawn" && typeof processHandle === "string";
		if (!isCommand && !isProcess) return () => {};
		const key = isCommand ? processId : handleKey(String(processHandle));
		const known = this.#deltas.get(key);
		// A second one of the same name will be refused.
		if (known && !known.isOver) return () => {};
		const deltas = new Deltas(isCommand);
		this.#deltas.set(key, deltas);
		return () => {
			if (isCommand) deltas.isOver = true;
			else deltas.isHeard = true;
		};
	}

	#receive(text: string): void {
		try {
			this.#take(text);
		} catch (error) {
			this.violations.push(error);
		}
		this.#change.happen();
	}

	#take(text: string): void {
		const message = JSON.parse(text) as Incoming;
		if (JSON.stringify(message) !== text) throw new Error(`not canonical: ${text.slice(0, 200)}`);
		if ("jsonrpc" in message) throw new Error("not JSON-RPC of this protocol");
		this.messages.push(message);
		if (message.method === undefined) this.#answered(message);
		else this.#notified(message);
	}

	#answered({ id, result, error }: Incoming): void {
		const [pending, ...others] = this.#pending.get(id ?? "") ?? [];
		if (!pending) throw new Error(`an answer to unknown id ${id}`);
		this.#pending.set(id ?? "", others);
		pending.over();
		if (error) pending.reject(new RpcFailure(error.code, error.message));
		else pending.resolve(result);
	}

	#notified({ method, params = {}, emittedAtMs }: Incoming): void {
		if (typeof emittedAtMs !== "number") throw new Error(`${method} without a time`);
		if (method === "process/exited") {
			const { processHandle, ...exited } = params as Exited & { processHandle: string };
			this.handleDeltas(processHandle).isOver = true;
			if (!this.handleDeltas(processHandle).isHeard) throw new Error("exited before it was started");
			this.#exits.set(processHandle, exited);
		} else this.#told(params as DeltaParams);
	}

	#told({ processId, processHandle, stream, deltaBase64, capReached }: DeltaParams): void {
		const deltas = this.#deltas.get(processId ?? handleKey(processHandle ?? ""));
		if (!deltas) throw new Error(`output of ${processId ?? processHandle}, which was not requested`);
		if (deltas.isOver) throw new Error(`output of ${processId} after its answer`);
		if (!deltas.isHeard) throw new Error(`output of ${processHandle} before the answer to its start`);
		if (deltas.capped[stream]) throw new Error(`${stream} after its cap`);
		deltas.capped[stream] = capReached;
		deltas.chunks[stream].push(Buffer.from(deltaBase64, "base64"));
	}
}

function handleKey(handle: string): string {
	return `handle ${handle}`;
}
