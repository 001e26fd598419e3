/** Keepers that wait for a session: starting a process takes longer than anybody wants to wait for a shell. */

import type { FileHandle } from "node:fs/promises";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { SessionError } from "../core/errors.ts";
import { shortage } from "../core/shortage.ts";
import { type Detached, spawnDetached } from "../native/addon.ts";
import { type KeeperAddress, KeeperLink, LinkLost } from "./keeper-link.ts";

/** How long a new keeper may take until it answers. */
export const START_BUDGET_MS = 10_000;
/** Between two looks whether it listens. */
const LOOK_MS = 5;
/** Other flags for a small heap were measured to cost more than they save: V8 then does without Node's code cache. */
const NODE_FLAGS = ["--v8-pool-size=0"];

export type SparesOptions = {
	/** Where keepers listen; its path must leave room for a name within the limit for sockets. */
	readonly socketDirectory: string;
	readonly generation: number;
	/** How many should wait at any time. */
	readonly spares: number;
	readonly newEpoch: () => string;
	/** What keepers say in trouble is appended here. */
	readonly logFile: string;
	/** The keeper's program. */
	readonly program: string;
	readonly report: (problem: unknown) => void;
};

export class Spares {
	readonly #options: SparesOptions;
	readonly #waiting: KeeperLink[] = [];
	#log: FileHandle | undefined;
	#launching = 0;
	#started = 0;
	#isClosed = false;

	constructor(options: SparesOptions) {
		this.#options = options;
	}

	/** How many keepers were started at all, and how many wait now. */
	get figures(): { readonly started: number; readonly spares: number } {
		return { started: this.#started, spares: this.#waiting.length };
	}

	async open(): Promise<void> {
		this.#log = await open(this.#options.logFile, "a", 0o600);
		this.refill();
	}

	/** One that waits, or else a new one. It may have died without our having noticed if it waited. */
	async take(): Promise<{ readonly link: KeeperLink; readonly hasWaited: boolean }> {
		const link = this.#waiting.shift();
		if (link) return { link, hasWaited: true };
		return { link: await this.#launch(), hasWaited: false };
	}

	/** It has no session after all. */
	giveBack(link: KeeperLink): void {
		if (this.#isClosed || this.#waiting.length > this.#options.spares) {
			link.close();
			return;
		}
		link.onClose = () => {
			const index = this.#waiting.indexOf(link);
			if (index >= 0) this.#waiting.splice(index, 1);
		};
		this.#waiting.push(link);
	}

	/** Makes new ones in the background until there are enough. */
	refill(): void {
		while (!this.#isClosed && this.#waiting.length + this.#launching < this.#options.spares) {
			this.#launching++;
			this.#launch()
				.then((link) => this.giveBack(link), this.#options.report)
				.finally(() => {
					this.#launching--;
				});
		}
	}

	/** They end by themselves when they are let go. */
	async close(): Promise<void> {
		this.#isClosed = true;
		for (const link of this.#waiting.splice(0)) link.close();
		await this.#log?.close();
	}

	async #launch(): Promise<KeeperLink> {
		const { socketDirectory, newEpoch, generation, program } = this.#options;
		this.#started++;
		const epoch = newEpoch();
		const socket = join(socketDirectory, `${epoch}.sock`);
		const keeper = spawn([program, socket, epoch], this.#log?.fd);
		return reachNew(keeper, { socket, epoch }, generation);
	}
}

function spawn(argv: readonly string[], log: number | undefined): Detached {
	try {
		return spawnDetached({
			argv: [process.execPath, ...NODE_FLAGS, ...argv],
			env: { PATH: process.env.PATH ?? "" },
			...(log === undefined ? {} : { output: log }),
		});
	} catch (error) {
		throw shortage("a keeper", error) ?? error;
	}
}

/** Connects to a keeper that was just started, as soon as it listens. */
async function reachNew(keeper: Detached, address: KeeperAddress, generation: number): Promise<KeeperLink> {
	let hasEnded = false;
	void keeper.ended.then(() => {
		hasEnded = true;
	});
	const deadline = performance.now() + START_BUDGET_MS;
	for (;;) {
		try {
			return (await KeeperLink.connect(address, generation, START_BUDGET_MS)).link;
		} catch (error) {
			if (error instanceof SessionError) throw error;
			// To wait for a descriptor would keep the caller waiting; the keeper ends by itself.
			const short = error instanceof LinkLost && error.cause ? shortage("a keeper", error.cause) : undefined;
			if (short) throw short;
			if (hasEnded || performance.now() > deadline) {
				throw new SessionError("internal", "a keeper could not be started; its log in the state directory says why", {
					cause: error,
				});
			}
			await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
		}
	}
}
