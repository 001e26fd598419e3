/** Event streams as clients read them, with the checks that clients rely on. */

import { expect } from "vitest";
import type { ExecdServer } from "./execd-server.ts";

export type StreamEvent = {
	readonly type: string;
	readonly timestamp: number;
	readonly text?: string;
	readonly execution_time?: number;
	readonly error?: { readonly ename: string; readonly evalue: string; readonly traceback: readonly string[] };
};

/** An open stream: the events so far, and those to come. */
export class Events {
	readonly seen: StreamEvent[] = [];
	readonly response: Response;
	readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
	readonly #decoder = new TextDecoder();
	#rest = "";

	constructor(response: Response) {
		this.response = response;
		if (!response.body) throw new Error("an answer without a body");
		this.#reader = response.body.getReader();
	}

	/** The next event. Undefined at the end of the stream. */
	async next(): Promise<StreamEvent | undefined> {
		for (;;) {
			const end = this.#rest.indexOf("\n\n");
			if (end >= 0) {
				const event = JSON.parse(this.#rest.slice(0, end)) as StreamEvent;
				this.#rest = this.#rest.slice(end + 2);
				this.seen.push(event);
				return event;
			}
			const { value, done } = await this.#reader.read();
			if (done) {
				expect(this.#rest).toBe("");
				return undefined;
			}
			this.#rest += this.#decoder.decode(value, { stream: true });
		}
	}

	async until(isIt: (event: StreamEvent) => boolean): Promise<StreamEvent> {
		for (;;) {
			const event = await this.next();
			if (!event) throw new Error(`the stream ended; seen: ${JSON.stringify(this.seen)}`);
			if (isIt(event)) return event;
		}
	}

	/** All events up to the end of the stream. */
	async all(): Promise<Stream> {
		while (await this.next());
		return new Stream(this.seen);
	}

	/** Disconnects like a client that has lost interest. */
	async leave(): Promise<void> {
		await this.#reader.cancel();
	}
}

/** A stream that has ended. */
export class Stream {
	readonly events: readonly StreamEvent[];

	constructor(events: readonly StreamEvent[]) {
		this.events = events;
	}

	get types(): string[] {
		return this.events.map(({ type }) => type).filter((type) => type !== "ping");
	}

	get id(): string {
		return this.events.find(({ type }) => type === "init")?.text ?? "";
	}

	get last(): StreamEvent | undefined {
		return this.events.at(-1);
	}

	texts(type: string): string[] {
		return this.events.filter((event) => event.type === type).map(({ text }) => text ?? "");
	}

	get stdout(): string[] {
		return this.texts("stdout");
	}

	get stderr(): string[] {
		return this.texts("stderr");
	}

	/** The exit code as clients compute it. */
	get exitCode(): number | null {
		if (this.last?.error) return /^-?\d+$/.test(this.last.error.evalue) ? Number(this.last.error.evalue) : null;
		return this.last?.type === "execution_complete" ? 0 : null;
	}
}

export async function open(server: ExecdServer, path: string, body: unknown): Promise<Events> {
	const response = await server.post(path, body);
	if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
	return new Events(response);
}

/** Runs a command to the end of its stream. */
export async function command(server: ExecdServer, line: string, more: object = {}): Promise<Stream> {
	return (await open(server, "/command", { command: line, ...more })).all();
}

export async function createSession(server: ExecdServer, body: object = {}): Promise<string> {
	const response = await server.post("/session", body);
	expect(response.status).toBe(200);
	return ((await response.json()) as { session_id: string }).session_id;
}

/** Runs a text in a bash session to the end of its stream. */
export async function run(server: ExecdServer, session: string, line: string, more: object = {}): Promise<Stream> {
	return (await open(server, `/session/${session}/run`, { command: line, ...more })).all();
}

/** The status and code of a refusal. */
export async function refusalOf(answer: Promise<Response>): Promise<[status: number, code: string, message: string]> {
	const response = await answer;
	expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
	const { code, message } = (await response.json()) as { code: string; message: string };
	return [response.status, code, message];
}
