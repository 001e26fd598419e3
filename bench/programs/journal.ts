/** Reads the same output of two sessions in turns, one with a journal and one without, and compares the cost. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Item } from "../../src/core/log/event.ts";
import type { Session } from "../../src/core/session/session.ts";
import { BenchHome, type HomeKind } from "../homes.ts";
import { cpuSeconds } from "../processes.ts";
import { finish, readInput } from "./input.ts";

export type JournalInput = {
	readonly home: HomeKind;
	/** Output of one turn; `bytes` as they arrive. */
	readonly file: string;
	readonly bytes: number;
	/** Number of measured turns of each, and of warm-up turns before. */
	readonly turns: number;
	readonly warmUpTurns: number;
};

/** Deferred work, up to the journal's sync after a second, counts as part of the turn. */
const AFTERMATH_MS = { plain: 50, journaled: 1_200 };

const input = readInput<JournalInput>();

class Contestant {
	readonly #home: BenchHome;
	readonly #aftermathMs: number;
	readonly #pids: readonly number[];
	readonly #session: Session;
	readonly #items: AsyncIterator<Item>;
	#cpu = 0;
	#bytes = 0;
	seconds = 0;

	static async enter(journal: boolean): Promise<Contestant> {
		const name = journal ? "journaled" : "plain";
		const directory = `${input.directory}/${name}`;
		const home = await BenchHome.open({ kind: input.home, directory, journal });
		const script = 'stty -echo; printf R; while read go; do cat "$0"; done';
		const session = await home.start(["/bin/sh", "-c", script, input.file], { mode: "pty" });
		const pids = input.home === "keeper" ? [process.pid, await home.keeperPid(session)] : [process.pid];
		const contestant = new Contestant(home, session, pids, AFTERMATH_MS[name]);
		await contestant.#receive(1);
		return contestant;
	}

	private constructor(home: BenchHome, session: Session, pids: readonly number[], aftermathMs: number) {
		this.#aftermathMs = aftermathMs;
		this.#home = home;
		this.#session = session;
		this.#pids = pids;
		this.#items = session.follow({ offset: 0 }, { flow: "lossless" })[Symbol.asyncIterator]();
	}

	get cpuPerGigabyte(): number {
		return this.#cpu / (this.#bytes / 1e9);
	}

	async takeTurn(): Promise<void> {
		const cpuBefore = this.#cpuUsed();
		const begin = performance.now();
		await this.#session.act({ kind: "write", bytes: Buffer.from("\n") });
		await this.#receive(input.bytes);
		this.seconds += (performance.now() - begin) / 1000;
		await sleep(this.#aftermathMs);
		this.#cpu += this.#cpuUsed() - cpuBefore;
		this.#bytes += input.bytes;
	}

	/** Discards the results of the warm-up. */
	forget(): void {
		this.#cpu = 0;
		this.#bytes = 0;
		this.seconds = 0;
	}

	async leave(): Promise<void> {
		await this.#items.return?.();
		await this.#home.close();
	}

	async #receive(bytes: number): Promise<void> {
		for (let received = 0; received < bytes; ) {
			const { value: item } = await this.#items.next();
			if (item?.kind !== "output") throw new Error(`${item?.kind ?? "the end"} after ${received} bytes of ${bytes}`);
			received += item.bytes.byteLength;
		}
	}

	#cpuUsed(): number {
		return this.#pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0);
	}
}

const plain = await Contestant.enter(false);
const journaled = await Contestant.enter(true);
for (let turn = -input.warmUpTurns; turn < input.turns; turn++) {
	if (turn === 0) for (const each of [plain, journaled]) each.forget();
	for (const each of turn % 2 === 0 ? [plain, journaled] : [journaled, plain]) await each.takeTurn();
}
for (const each of [plain, journaled]) await each.leave();
finish({
	plain: plain.cpuPerGigabyte,
	journaled: journaled.cpuPerGigabyte,
	extra: 100 * (journaled.cpuPerGigabyte / plain.cpuPerGigabyte - 1),
	rate: plain.seconds / journaled.seconds,
});
