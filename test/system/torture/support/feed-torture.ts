/**
 * Many sessions that ask, are answered and end, also while no server runs. Compares what one reader of the feed gets
 * with what happened.
 */

import { execFile } from "node:child_process";
import { open, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Client, connect, type FeedEvent, type FeedItem } from "../../../../src/client/index.ts";
import { eventually } from "../../../support/reading.ts";

const PATIENCE_MS = 30_000;
const EXIT_CODE = 3;

/** A server that stops and restarts at the same address. */
export type Restarted = {
	readonly url: string;
	token(): Promise<string>;
	start(): Promise<void>;
	kill(): Promise<void>;
	stop(): Promise<void>;
};

/** Asks. On an answer with `hold` it continues when the gate opens, on one with `exit` it ends. */
const PROGRAM = `n=0
while printf 'q%s? ' $n; read -r answer; do
	n=$((n + 1))
	case $answer in *hold*) : <"$2/gate"; : >"$2/$1.$n" ;; esac
	case $answer in *exit*) exit ${EXIT_CODE} ;; esac
done`;

type RequestCaller = { readonly id: string; readonly name: string; waits: number; isEnded: boolean };

export type FeedTortureOptions = {
	readonly server: Restarted;
	/** Holds the gate and the files that programs leave. */
	readonly directory: string;
	readonly sessions: number;
	readonly random: (below: number) => number;
};

export class FeedTorture {
	readonly #options: FeedTortureOptions;
	readonly #client: Client;
	readonly #all: RequestCaller[] = [];
	readonly #items: FeedItem[] = [];
	readonly #over = new AbortController();
	readonly #reading: Promise<void>;

	/** The server runs and has no sessions. */
	static async begin(options: FeedTortureOptions): Promise<FeedTorture> {
		await promisify(execFile)("mkfifo", [join(options.directory, "gate")]);
		const token = await options.server.token();
		const times = { firstRetryMs: 20, lastRetryMs: 200 };
		const torture = new FeedTorture(options, connect({ url: options.server.url, token, times }));
		await torture.#until("the beginning", () => torture.#items.length > 0);
		return torture;
	}

	private constructor(options: FeedTortureOptions, client: Client) {
		this.#options = options;
		this.#client = client;
		this.#reading = this.#read();
	}

	/** The number of events received. */
	get told(): number {
		return this.#items.length;
	}

	/** Answers most waiting sessions, stops the server, lets others continue meanwhile, and restarts it. */
	async round(how: "kill" | "stop"): Promise<void> {
		const { server, directory, random } = this.#options;
		await this.#fill();
		await this.#allAsk();
		const held: string[] = [];
		const answers = this.#running.flatMap((asking) => {
			const answer = ["go", "go", "go", "hold", "hold", "hold", "hold exit", "exit", undefined][random(9)];
			if (answer === undefined) return [];
			if (answer.includes("exit")) asking.isEnded = true;
			if (answer.includes("hold")) held.push(join(directory, `${asking.name}.${asking.waits}`));
			if (!asking.isEnded) asking.waits++;
			return [this.#client.sessions.at(asking.id).write(`${answer}\n`)];
		});
		await Promise.all(answers);
		await (how === "kill" ? server.kill() : server.stop());
		if (held.length > 0) {
			const gate = await open(join(directory, "gate"), "w");
			await this.#until("what was held", async () => (await Promise.all(held.map(isThere))).every(Boolean));
			await gate.close();
		}
		await server.start();
	}

	/** Ends everything. Throws if an event was duplicated, lost or out of order. */
	async finish(): Promise<void> {
		await this.#allAsk();
		for (const asking of this.#running) {
			asking.isEnded = true;
			await this.#client.sessions.at(asking.id).write("exit\n");
		}
		await this.#until("the end of all", () => this.#all.every(({ id }) => this.#typesOf(id).includes("closed")));
		for (const { id } of this.#all) await this.#client.sessions.at(id).remove();
		await this.#until("their removal", () => this.#all.every(({ id }) => this.#typesOf(id).includes("removed")));
		this.#over.abort();
		await this.#reading;
		for (const { id, name, waits } of this.#all) {
			const asked = Array.from({ length: waits }, () => "waiting");
			const expected = ["created", ...asked, "exited", "closed", "removed"].join(" ");
			const reported = this.#typesOf(id).join(" ");
			if (reported !== expected) throw new Error(`the feed reported of ${name}: ${reported}; expected: ${expected}`);
			const prompts = this.#eventsOf(id).flatMap(({ prompt }) => prompt ?? []);
			if (prompts.some((prompt, index) => prompt.trim() !== `q${index}?`))
				throw new Error(`${name} has the prompts ${prompts}`);
		}
		if (this.#items.some(({ kind }) => kind === "gap")) throw new Error("something was missed");
		if (new Set(this.#items.map(({ cursor }) => cursor)).size !== this.#items.length)
			throw new Error("a cursor was repeated");
	}

	get #running(): readonly RequestCaller[] {
		return this.#all.filter(({ isEnded }) => !isEnded);
	}

	async #read(): Promise<void> {
		for await (const item of this.#client.events({ signal: this.#over.signal })) this.#items.push(item);
	}

	async #fill(): Promise<void> {
		const { sessions, directory } = this.#options;
		while (this.#running.length < sessions) {
			const name = `asking-${this.#all.length}`;
			const argv = ["/bin/sh", "-c", PROGRAM, "sh", name, directory];
			const { id } = await this.#client.sessions.create({ argv, name, durable: true });
			this.#all.push({ id, name, waits: 1, isEnded: false });
		}
	}

	/** Each session was reported as waiting as often as it asked. */
	async #allAsk(): Promise<void> {
		const waitsOf = (id: string) => this.#typesOf(id).filter((type) => type === "waiting").length;
		await this.#until("all questions", () => this.#running.every(({ id, waits }) => waitsOf(id) >= waits));
	}

	#typesOf(id: string): string[] {
		return this.#eventsOf(id).map(({ type }) => type);
	}

	#eventsOf(id: string): FeedEvent[] {
		return this.#items.flatMap((item) => (item.kind === "event" && item.event.session.id === id ? [item.event] : []));
	}

	async #until(what: string, look: () => boolean | Promise<boolean>): Promise<void> {
		const isOver = this.#reading.then(() => Promise.reject(new Error(`the feed ended while waiting for ${what}`)));
		await Promise.race([isOver, eventually(what, look, PATIENCE_MS)]);
	}
}

function isThere(path: string): Promise<boolean> {
	return stat(path).then(
		() => true,
		() => false,
	);
}
