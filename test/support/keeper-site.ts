/** Keepers on their own state directory, as a series of servers uses them. */

import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, rmdir } from "node:fs/promises";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished } from "vitest";
import { killRemaining } from "../../src/backends/kill.ts";
import { listProcesses } from "../../src/backends/process-table.ts";
import { systemClock } from "../../src/backends/system-clock.ts";
import type { Session } from "../../src/core/session/session.ts";
import { openForReading } from "../../src/journal/journal-reader.ts";
import { DurableSessions, type KeepersOptions } from "../../src/keeper/client/durable-sessions.ts";
import { type KeeperRecord, readRecord, type SessionRecord } from "../../src/keeper/link/session-record.ts";
import { signalProcess } from "../../src/native/addon.ts";
import { FaultProxy, type Plan } from "./fault-proxy.ts";
import { HeldLink } from "./held-link.ts";
import { eventually } from "./reading.ts";

const { SIGKILL } = constants.signals;

export const keeperProgram: string = fileURLToPath(new URL("../../dist/keeper/main.js", import.meta.url));

export class KeeperSite {
	readonly directory: string;
	readonly reports: unknown[] = [];
	#generation = 0;
	#isClosed = false;
	readonly #opened: DurableSessions[] = [];

	static async create(directory?: string): Promise<KeeperSite> {
		const site = new KeeperSite(directory ?? (await mkdtemp(join(tmpdir(), "hawser-keepers-"))));
		await mkdir(join(site.directory, "run"), { recursive: true });
		onTestFinished(() => site.close());
		return site;
	}

	private constructor(directory: string) {
		this.directory = directory;
	}

	/** The state of a newly started server: keepers of the next generation, and the sessions they found. */
	async open(options: Partial<KeepersOptions> = {}): Promise<{ keepers: DurableSessions; adopted: Session[] }> {
		const keepers = new DurableSessions({
			directory: join(this.directory, "sessions"),
			socketDirectory: join(this.directory, "run"),
			generation: ++this.#generation,
			spares: 0,
			fsync: "interval",
			maxDiskBytes: 2 ** 40,
			clock: systemClock,
			newEpoch: () => randomBytes(8).toString("hex"),
			logFile: join(this.directory, "keepers.log"),
			report: (problem) => this.reports.push(problem),
			program: keeperProgram,
			...options,
		});
		this.#opened.push(keepers);
		const adopted = await keepers.open();
		keepers.serve();
		for (const session of adopted) this.#ids.add(session.id);
		return { keepers, adopted };
	}

	readonly #ids = new Set<string>();
	readonly #keepers = new Map<string, KeeperRecord>();

	async record(id: string): Promise<SessionRecord> {
		this.#ids.add(id);
		const record = await readRecord(join(this.directory, "sessions", id));
		if (!record) throw new Error(`no record of session ${id}`);
		this.#keepers.set(id, record.keeper);
		return record;
	}

	/** The process of the only keeper: a spare, or one that has a session. */
	async onlyKeeper(): Promise<number> {
		const socket = await eventually("its socket", async () => (await readdir(join(this.directory, "run")))[0]);
		return eventually("its process", async () => {
			for (const { pid } of listProcesses()) {
				const line = await readFile(`/proc/${pid}/cmdline`, "latin1").catch(() => "");
				if (line.includes(socket)) return pid;
			}
			return undefined;
		});
	}

	/** Waits until all output so far is on disk, as a reader of the files sees it. */
	async journaled(session: Session): Promise<void> {
		const { offset } = await session.end();
		const directory = join(this.directory, "sessions", session.id, "journal");
		await eventually("the journal", async () => (await openForReading(directory)).end.offset >= offset);
	}

	/** From now on connections to a session's keeper go through a proxy with planned faults. */
	async proxy(id: string, plan: () => Plan | undefined): Promise<FaultProxy> {
		return this.#between(id, (path, target) => new FaultProxy({ path, target: () => target, plan }));
	}

	/**
	 * From now on a server that connects to a session's keeper gets the keeper's frames only when the test lets them
	 * pass.
	 */
	async heldLink(id: string): Promise<HeldLink> {
		return this.#between(id, (path, target) => new HeldLink(path, target));
	}

	async #between<Proxy extends { start(): Promise<void>; close(): Promise<void> }>(
		id: string,
		make: (path: string, target: string) => Proxy,
	): Promise<Proxy> {
		const { socket } = (await this.record(id)).keeper;
		const real = `${socket}.real`;
		await rename(socket, real);
		const proxy = make(socket, real);
		await proxy.start();
		onTestFinished(async () => {
			await proxy.close();
			await rename(real, socket).catch(() => {});
			await this.close();
		});
		return proxy;
	}

	/** Leaves no process and no file behind, whatever the test did. */
	async close(): Promise<void> {
		if (this.#isClosed) return;
		this.#isClosed = true;
		for (const keepers of this.#opened) await keepers.close();
		const { keepers, adopted } = await this.open();
		for (const session of adopted) {
			await session.kill({ signal: "SIGKILL", graceMs: 0 }).catch(() => {});
			await keepers.forget(session, { isKilled: true }).catch(() => {});
		}
		await keepers.close();
		for (const id of this.#ids) await killRemaining(id);
		// Undefined if it has exited by itself.
		for (const { pid, startTime } of this.#keepers.values()) signalProcess(pid, Number(startTime), SIGKILL);
		// The directory itself may be a mount point, and a spare that was just started may still create its socket.
		for (const entry of await readdir(this.directory)) {
			await rm(join(this.directory, entry), { recursive: true, maxRetries: 5 });
		}
		await rmdir(this.directory).catch(() => {});
	}
}

/** The only session that a server found. */
export function only(sessions: readonly Session[]): Session {
	expect(sessions).toHaveLength(1);
	return sessions[0] as Session;
}
