/** The places where sessions live, as the server composes them, for one measurement: in process and in keepers. */

import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "../src/backends/clock.ts";
import { spawn } from "../src/backends/spawn.ts";
import { LocalSession } from "../src/core/local-session.ts";
import type { Session, SessionStart } from "../src/core/session.ts";
import { Journal } from "../src/journal/journal.ts";
import { Keepers } from "../src/keepers/keepers.ts";
import { readRecord } from "../src/link/record.ts";
import { skim } from "../src/native/addon.ts";
import { type StartOptions, startOf } from "../test/helpers/starts.ts";

/** Any time will do: that there is a timer is what counts. */
const STAYING_MS = 60_000;

export type HomeKind = "process" | "keeper";

export type HomeOptions = {
	readonly kind: HomeKind;
	readonly directory: string;
	readonly journal?: boolean;
	readonly spares?: number;
};

/** Where sessions are started, and everything that was started is ended again. */
export class BenchHome {
	readonly #options: HomeOptions;
	readonly #keepers: Keepers | undefined;
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

	/** From here on readers lose their sessions, which is no failure. */
	get isClosing(): boolean {
		return this.#isClosing;
	}

	/** The process that keeps a session. */
	async keeperPid(session: Session): Promise<number> {
		const record = await readRecord(join(this.#options.directory, "sessions", session.id));
		if (!record) throw new Error(`no record of session ${session.id}`);
		return record.keeper.pid;
	}

	/** Ends one session and forgets it. */
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

	/** Forgets what was not ended. Many keepers that end their trees at once each look at all processes; this looks once for all. */
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
 * Ends whatever a measurement left behind that died, and removes its directory. Keepers are ended by force: one that
 * was worn down by a measurement need not answer soon.
 */
export async function sweep(directory: string): Promise<void> {
	// Whoever looks for a keeper waits by timers that let a process end; a server listens meanwhile, and we do not.
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

function keepersOn(directory: string, generation: number, spares: number): Keepers {
	return new Keepers({
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

/** A measurement in which something went wrong is none. */
function fail(problem: unknown): void {
	console.error(problem);
	process.exitCode = 1;
}
