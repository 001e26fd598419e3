/** Starts programs for tests and waits for their output and exit. */

import { randomUUID } from "node:crypto";
import { childEnvironment } from "../../src/backends/environment.ts";
import type { Fact } from "../../src/core/log/event.ts";
import type { Command, Process, Spawn } from "../../src/core/process/process.ts";
import type { Exit, Stream } from "../../src/words/state.ts";

/** A program under test and everything reported about it. */
export class Run {
	readonly facts: Fact[] = [];
	readonly sessionId: string;
	readonly #waiters = new Set<() => void>();
	#process: Process | undefined;

	constructor(sessionId: string) {
		this.sessionId = sessionId;
	}

	get process(): Process {
		if (this.#process === undefined) throw new Error("not started yet");
		return this.#process;
	}

	static async start(spawn: Spawn, argv: readonly string[], options: Partial<Command> = {}): Promise<Run> {
		const run = new Run(options.sessionId ?? `test-${randomUUID()}`);
		const command: Command = {
			argv,
			env: childEnvironment(process.env, {}, run.sessionId),
			cwd: "/tmp",
			mode: "pipe",
			size: { cols: 80, rows: 24 },
			stdin: "open",
			drainMs: 300,
			sessionId: run.sessionId,
			...options,
		};
		run.#process = await spawn(command, (fact) => {
			run.facts.push(fact);
			for (const waiter of run.#waiters) waiter();
		});
		return run;
	}

	bytes(stream?: Stream): Buffer {
		const chunks = this.facts.flatMap((fact) =>
			fact.kind === "output" && (stream === undefined || fact.stream === stream) ? [fact.bytes] : [],
		);
		return Buffer.concat(chunks);
	}

	text(stream?: Stream): string {
		return this.bytes(stream).toString("latin1");
	}

	get exit(): Exit | undefined {
		const fact = this.facts.find((each) => each.kind === "exited");
		return fact?.kind === "exited" ? fact.exit : undefined;
	}

	get isClosed(): boolean {
		return this.facts.at(-1)?.kind === "closed";
	}

	/** Resolves once a condition holds after some event. Fails with what was seen. */
	until(condition: () => boolean, timeoutMs = 20_000): Promise<void> {
		return new Promise((resolve, reject) => {
			const settle = (error?: Error) => {
				clearTimeout(timer);
				this.#waiters.delete(check);
				if (error) reject(error);
				else resolve();
			};
			const check = () => condition() && settle();
			const timer = setTimeout(() => settle(new Error(`timed out; saw ${this.#seen()}`)), timeoutMs);
			this.#waiters.add(check);
			check();
		});
	}

	untilText(text: string): Promise<void> {
		return this.until(() => this.text().includes(text));
	}

	async closed(): Promise<this> {
		await this.until(() => this.isClosed);
		return this;
	}

	#seen(): string {
		const kinds = this.facts.map((fact) =>
			fact.kind === "output" ? `${fact.stream}:${fact.bytes.byteLength}` : JSON.stringify(fact),
		);
		return `${kinds.slice(0, 20).join(" ")} … ${JSON.stringify(this.text().slice(-300))}`;
	}
}

/** Resolves once a condition holds, checked every few milliseconds. For state that the kernel does not report. */
export async function eventually(condition: () => boolean | Promise<boolean>, timeoutMs = 10_000): Promise<void> {
	const deadline = Date.now() + timeoutMs;
	while (!(await condition())) {
		if (Date.now() > deadline) throw new Error(`never true: ${condition}`);
		await new Promise((resolve) => setTimeout(resolve, 5));
	}
}
