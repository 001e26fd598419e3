/** A minimal client of Multica's sockets: stores everything received, and waits for conditions. */

import { WebSocket } from "ws";
import { Change } from "../../../../../src/core/async/change.ts";
import { untilFact } from "../../../../support/reading.ts";
import { ISSUE, type MulticaServer, WORKSPACE } from "./multica-server.ts";

export type Frame = {
	readonly type: string;
	readonly payload: Readonly<Record<string, unknown>>;
	readonly error?: string;
};

export type ClientOptions = {
	readonly query?: Readonly<Record<string, string>>;
	readonly issue?: string;
	readonly headers?: Readonly<Record<string, string>>;
};

export class MulticaClient {
	readonly socket: WebSocket;
	/** Everything received, in order. */
	readonly frames: Frame[] = [];
	readonly closed: Promise<{ code: number; reason: string }>;
	/** The status of a refused upgrade. */
	status: number | undefined;
	#output: Buffer[] = [];
	readonly #change = new Change();

	constructor(url: string, headers: Readonly<Record<string, string>> = {}) {
		this.socket = new WebSocket(url.replace(/^http/, "ws"), { headers, perMessageDeflate: false });
		this.socket.on("message", (data: Buffer, isBinary) => {
			if (isBinary) throw new Error("the panel drops binary frames");
			this.#receive(JSON.parse(data.toString()) as Frame);
		});
		this.socket.on("open", () => this.#change.happen());
		this.closed = new Promise((resolve) => {
			this.socket.on("close", (code, reason) => {
				resolve({ code, reason: reason.toString() });
				this.#change.happen();
			});
		});
		this.socket.on("unexpected-response", (_, response) => {
			this.status = response.statusCode;
			this.socket.terminate();
		});
		this.socket.on("error", () => {});
	}

	/** On the socket of an issue, not signed in yet. */
	static connect({ url }: { url: string }, { query = {}, issue = ISSUE, headers }: ClientOptions = {}): MulticaClient {
		const search = new URLSearchParams({ workspace_id: WORKSPACE, ...query });
		return new MulticaClient(`${url}/ws/issues/${encodeURIComponent(issue)}/terminal?${search}`, headers);
	}

	/** The same, signed in by its first frame like the command-line client. Resolves once the terminal is open. */
	static async open(server: MulticaServer, token?: string, options: ClientOptions = {}): Promise<MulticaClient> {
		const client = MulticaClient.connect(server, options);
		await client.auth(token ?? (await server.token()));
		await client.frame("terminal.opened");
		return client;
	}

	/** On the socket for many terminals. */
	static async raw(server: MulticaServer, token?: string): Promise<MulticaClient> {
		const authorization = `Bearer ${token ?? (await server.token())}`;
		const client = new MulticaClient(`${server.url}/multica/terminal`, { authorization });
		await client.ready();
		return client;
	}

	async ready(): Promise<void> {
		await this.until("an open socket", () => this.socket.readyState === WebSocket.OPEN);
	}

	async auth(token: string): Promise<void> {
		await this.ready();
		this.say("auth", { token });
	}

	say(type: string, payload: object): void {
		this.socket.send(JSON.stringify({ type, payload }));
	}

	get session(): string {
		return String(this.frames.find(({ type }) => type === "terminal.opened")?.payload.session_id);
	}

	type(text: string | Buffer, session = this.session): void {
		this.say("terminal.data", { session_id: session, data_b64: Buffer.from(text as string).toString("base64") });
	}

	resize(cols: unknown, rows: unknown): void {
		this.say("terminal.resize", { session_id: this.session, cols, rows });
	}

	get types(): string[] {
		return this.frames.map(({ type }) => type);
	}

	/** All output, or that of one session. */
	output(session?: string): Buffer {
		if (session === undefined) return Buffer.concat(this.#output);
		const own = this.frames.filter(({ type, payload }) => type === "terminal.data" && payload.session_id === session);
		return Buffer.concat(own.map(({ payload }) => Buffer.from(String(payload.data_b64), "base64")));
	}

	/** The newest output, without scanning all of it. */
	get newest(): string {
		return Buffer.concat(this.#output.slice(-3)).toString("latin1");
	}

	/** The first frame of a type, as soon as there is one. */
	frame(type: string, patienceMs?: number): Promise<Frame> {
		return this.until(type, () => this.frames.find((one) => one.type === type), patienceMs);
	}

	async text(pattern: RegExp, session?: string): Promise<string> {
		return this.until(String(pattern), () => {
			const text = this.output(session).toString("latin1");
			return pattern.test(text) && text;
		});
	}

	/** The shell's process id, printed by the shell. */
	async pid(): Promise<number> {
		this.type("echo pid=$$.\n");
		return Number(/pid=(\d+)\./.exec(await this.text(/pid=\d+\./))?.[1]);
	}

	/** Waits for a condition, and fails with everything received if it does not hold in time. */
	until<Value>(what: string, look: () => Value | undefined | false, patienceMs?: number): Promise<Value> {
		const isOver = () => this.socket.readyState === WebSocket.CLOSED;
		return untilFact(this.#change, look, { missed: () => this.#missed(what), isOver, patienceMs });
	}

	async close(): Promise<void> {
		this.socket.close();
		await this.closed;
	}

	/** Drops the connection silently, like a failing network. */
	cut(): void {
		this.socket.terminate();
	}

	#receive(frame: Frame): void {
		if (frame.type === "terminal.data") this.#output.push(Buffer.from(String(frame.payload.data_b64), "base64"));
		this.frames.push(frame);
		this.#change.happen();
	}

	#missed(what: string): string {
		const others = this.frames.filter(({ type }) => type !== "terminal.data");
		return `waited for ${what}; received ${JSON.stringify(others)} ${this.output().toString("latin1").slice(-500)}`;
	}
}
