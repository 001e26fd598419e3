/** Session providers for one measurement, composed as in the server: in-process and with keepers. */

import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { spawn } from "../src/backends/spawn.ts";
import { systemClock } from "../src/backends/system-clock.ts";
import { LocalSession } from "../src/core/session/local-session.ts";
import type { Session } from "../src/core/session/session.ts";
import type { SessionStart } from "../src/core/session/session-info.ts";
import { Journal } from "../src/journal/journal.ts";
import { DurableSessions } from "../src/keeper/client/durable-sessions.ts";
import { readRecord } from "../src/keeper/link/session-record.ts";
import { skim } from "../src/native/addon.ts";
import { type StartOptions, startOf } from "../test/support/starts.ts";

/** Any interval works: the timer only keeps the process alive. */
const STAYING_MS = 60_000;

export type HomeKind = "process" | "keeper";

export type HomeOptions = {
	readonly kind: HomeKind;
	readonly directory: string;
	readonly journal?: boolean;
	readonly spares?: number;
};

/** Starts sessions and ends all of them. */
export class BenchHome {
	readonly #options: HomeOptions;
	readonly #keepers: DurableSessions | undefined;
	readonly #sessions = new Set<Session>();
	readonly #journals: Journal[] = [];
	#isClosing = false;

	static async open(options: HomeOptions): Promise<BenchHome> {
		const home = new BenchHome(options);
		await home.#keepers?.open();
		home.#keepers?.serve();
		return home;
	}

	private constructor(options: HomeOptions) {
		this.#options = options;
		if (options.kind === "keeper") this.#keepers = keepersOn(options.directory, 1, options.spares ?? 0);
	}

	async start(argv: readonly string[], options: StartOptions = {}): Promise<Session> {
		const journalBytes = this.#options.journal ? 64 * 1024 * 1024 : 0;
		const start = startOf(argv, { retention: { memoryBytes: 1024 * 1024, journalBytes }, ...options });
		const session = this.#keepers ? await this.#keepers.start(start) : await this.#startHere(start);
		this.#sessions.add(session);
		return session;
	}

	/** Once it is closing, readers lose their sessions, which is not a failure. */
	get isClosing(): boolean {
		return this.#isClosing;
	}

	/** The pid of a session's keeper. */
	async keeperPid(session: Session): Promise<number> {
		const record = await readRecord(join(this.#options.directory, "sessions", session.id));
		if (!record) throw new Error(`no record of session ${session.id}`);
		return record.keeper.pid;
	}

	/** Ends and removes one session. */
	async end(session: Session): Promise<void> {
		this.#sessions.delete(session);
		await session.kill({ signal: "SIGKILL", graceMs: 0 });
		await this.#keepers?.forget(session, { isKilled: true });
	}

	async close(): Promise<void> {
		this.#isClosing = true;
		await Promise.all([...this.#sessions].map((session) => this.#abandon(session)));
		await Promise.all(this.#journals.map((journal) => journal.close()));
		await this.#keepers?.close();
	}

	/** Removes sessions that were not ended. Many keepers ending at once would each scan all processes; this scans once for all. */
	async #abandon(session: Session): Promise<void> {
		if (!this.#keepers) return this.end(session);
		this.#sessions.delete(session);
		await this.#keepers.forget(session, { isKilled: true });
	}

	async #startHere(start: SessionStart): Promise<Session> {
		let archive: Journal | undefined;
		if (this.#options.journal) {
			const directory = join(this.#options.directory, start.spec.id);
			archive = await Journal.open({ directory, clock: systemClock, onError: fail });
			this.#journals.push(archive);
		}
		return LocalSession.start(start, { spawn, clock: systemClock, skim, archive, onFailure: fail });
	}
}

/**
 * Ends everything that a crashed measurement left behind, and removes its directory. Keepers are killed, since an
 * overloaded one need not respond soon.
 */
export async function sweep(directory: string): Promise<void> {
	// The keeper client's timers do not keep a process alive. A server has its listener for that; here, a timer does it.
	const staying = setInterval(() => {}, STAYING_MS);
	try {
		if (existsSync(join(directory, "sessions"))) {
			const keepers = keepersOn(directory, Date.now(), 0);
			const sessions = await keepers.open();
			keepers.serve();
			for (const session of sessions) await keepers.forget(session, { isKilled: true, isForced: true });
			await keepers.close();
		}
		await rm(directory, { recursive: true, force: true });
	} finally {
		clearInterval(staying);
	}
}

function keepersOn(directory: string, generation: number, spares: number): DurableSessions {
	return new DurableSessions({
		directory: join(directory, "sessions"),
		socketDirectory: join(directory, "run"),
		generation,
		spares,
		fsync: "interval",
		maxDiskBytes: 2 ** 40,
		clock: systemClock,
		newEpoch: () => randomBytes(8).toString("hex"),
		logFile: join(directory, "keepers.log"),
		report: fail,
	});
}

/** An error makes the measurement invalid. */
function fail(problem: unknown): void {
	console.error(problem);
	process.exitCode = 1;
}
