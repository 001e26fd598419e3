/** Keepers that wait for a session, because starting a process would delay a shell too long. */

import type { FileHandle } from "node:fs/promises";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { valueWithin } from "../../core/async/deadline.ts";
import { SessionError } from "../../core/errors.ts";
import { shortage } from "../../core/process/resource-shortage.ts";
import { type Detached, type Reaped, spawnDetached } from "../../native/addon.ts";
import { startFailureName } from "../link/start-failure.ts";
import { type KeeperAddress, KeeperLink, LinkLost } from "./keeper-link.ts";

/** Timeout for a new keeper's first response. */
export const START_BUDGET_MS = 10_000;
/** Delay between attempts to connect to a new keeper. */
const LOOK_MS = 5;
/** V8 flags for a smaller heap were measured to cost more than they save, because V8 then ignores Node's code cache. */
const NODE_FLAGS = ["--v8-pool-size=0"];

export type SparesOptions = {
	/** Directory of the keepers' sockets. Socket paths have a length limit. */
	readonly socketDirectory: string;
	readonly generation: number;
	/** Number of spares to keep. */
	readonly spares: number;
	readonly newEpoch: () => string;
	/** The keepers' log is appended to this file. */
	readonly logFile: string;
	/** Path of the keeper's program. */
	readonly program: string;
	readonly report: (problem: unknown) => void;
};

export class SpareKeepers {
	readonly #options: SparesOptions;
	readonly #waiting: KeeperLink[] = [];
	/** Processes of the keepers that have not exited. */
	readonly #processes = new Map<KeeperLink, Detached>();
	#log: FileHandle | undefined;
	#launching = 0;
	#started = 0;
	#isClosed = false;

	constructor(options: SparesOptions) {
		this.#options = options;
	}

	/** Keepers started so far, and spares that wait now. */
	get figures(): { readonly started: number; readonly spares: number } {
		return { started: this.#started, spares: this.#waiting.length };
	}

	async open(): Promise<void> {
		this.#log = await open(this.#options.logFile, "a", 0o600);
		this.refill();
	}

	/** Returns a spare or else a new keeper. A spare may have died unnoticed. */
	async take(): Promise<{ readonly link: KeeperLink; readonly hasWaited: boolean }> {
		const link = this.#waiting.shift();
		if (link) return { link, hasWaited: true };
		return { link: await this.#launch(), hasWaited: false };
	}

	/** Kills a keeper that may still perform a request. False if it has not exited in time. */
	async end(link: KeeperLink): Promise<boolean> {
		const keeper = this.#processes.get(link);
		if (!keeper) return true;
		process.kill(keeper.pid, "SIGKILL");
		return (await valueWithin(keeper.ended, { ms: START_BUDGET_MS })) !== undefined;
	}

	/** Returns a keeper that got no session. */
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

	/** Starts keepers in the background until there are enough spares. */
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

	/** Disconnects from the spares, which then exit. */
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
		const link = await reachNew(keeper, { socket, epoch }, generation);
		this.#processes.set(link, keeper);
		void keeper.ended.then(() => this.#processes.delete(link));
		return link;
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

/** Connects to a keeper that was just started, once it listens. */
async function reachNew(keeper: Detached, address: KeeperAddress, generation: number): Promise<KeeperLink> {
	let ending: Reaped | undefined;
	void keeper.ended.then((reaped) => {
		ending = reaped;
	});
	const deadline = performance.now() + START_BUDGET_MS;
	for (;;) {
		try {
			return (await KeeperLink.connect(address, generation, START_BUDGET_MS)).link;
		} catch (error) {
			if (error instanceof SessionError) throw error;
			// Don't wait for a free descriptor, which would block the caller. The keeper exits by itself.
			const short = error instanceof LinkLost && error.cause ? shortage("a keeper", error.cause) : undefined;
			if (short) throw short;
			if (ending || performance.now() > deadline) {
				const code = startFailureName(ending?.code ?? null);
				const cause = new Error("a keeper could not create its socket");
				const failure = SessionError.from(code === undefined ? cause : Object.assign(cause, { code }));
				if (failure.code !== "internal") throw failure;
				throw new SessionError("internal", "could not start a keeper; see keepers.log in the state directory", {
					cause: error,
				});
			}
			await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
		}
	}
}
