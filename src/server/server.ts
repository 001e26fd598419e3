/** The composition root: what exists at run time and how it is plugged together, and nothing else. */

import { randomBytes } from "node:crypto";
import { systemClock } from "../backends/clock.ts";
import { childEnvironment } from "../backends/environment.ts";
import { spawn } from "../backends/spawn.ts";
import { inProcess } from "../core/in-process.ts";
import { LocalSessions } from "../core/sessions.ts";
import { createNativeFront } from "../fronts/native/front.ts";
import { createId, createPrepare } from "../fronts/prepare.ts";
import { Keepers } from "../keeper/keepers.ts";
import type { Config } from "./config.ts";
import { adminOnly, anybody, listen } from "./listen.ts";
import { openStateDirectory } from "./state-directory.ts";
import { version } from "./version.ts";

/** How many ended sessions are kept to be read. */
const MAX_ENDED = 500;
/** How long `closed` waits for background children that keep the terminal or the pipes. */
const DRAIN_MS = 2_000;

export type ServerOptions = {
	/** Hears of what concerns no caller: failing disks, silent keepers, our own bugs. */
	readonly report: (problem: unknown, where: string) => void;
	/** Called at named points of the code, so that a test can crash the server there. */
	readonly passed?: (point: string) => void;
};

export type Server = {
	readonly url: string;
	readonly adminToken: string;
	/** How many sessions were there before this server. */
	readonly adopted: number;
	/** Stops serving. Durable sessions go on; those that live in this process are ended. */
	close(): Promise<void>;
};

export async function startServer(config: Config, options: ServerOptions): Promise<Server> {
	const { report } = options;
	const state = await openStateDirectory(config.stateDir, config.runtimeDir);
	const keepers = new Keepers({
		directory: state.sessions,
		socketDirectory: state.sockets,
		generation: state.generation,
		spares: config.spares,
		fsync: config.fsync,
		clock: systemClock,
		newEpoch: () => randomBytes(8).toString("hex"),
		logFile: state.keeperLog,
		report: (problem) => report(problem, "keepers"),
		...(options.passed ? { passed: options.passed } : {}),
	});
	const sessions = new LocalSessions({
		homes: {
			durable: keepers,
			transient: inProcess({ spawn, clock: systemClock, onFailure: (error) => report(error, "session") }),
		},
		maxRunning: config.maxSessions,
		maxEnded: MAX_ENDED,
		onFailure: (error) => report(error, "sessions"),
	});
	try {
		const adopted = await keepers.open();
		for (const session of adopted) sessions.adopt(session);
		const adminToken = await state.adminToken(() => randomBytes(32).toString("base64url"));
		const prepare = createPrepare({
			defaults: {
				cwd: config.cwd,
				workspace: "default",
				durable: true,
				retention: config.retention,
				drainMs: DRAIN_MS,
			},
			newId: () => createId(randomBytes),
			now: () => systemClock.now(),
			environment: (request, id) => childEnvironment(process.env, request, id),
		});
		const listener = await listen({
			host: config.host,
			port: config.port,
			fronts: [createNativeFront({ sessions, prepare, version })],
			allowedHosts: config.allowedHosts,
			authorize: config.auth ? adminOnly(adminToken) : anybody,
			report,
		});
		await state.announce(listener.url);
		return {
			url: listener.url,
			adminToken,
			adopted: adopted.length,
			close: async () => {
				await listener.close();
				await sessions.endTransient();
				await keepers.close();
				await state.release();
			},
		};
	} catch (error) {
		await keepers.close();
		await state.release();
		throw error;
	}
}
