/** The composition root: what exists at run time and how it is plugged together, and nothing else. */

import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { Access } from "../access/access.ts";
import { Failures } from "../access/rate.ts";
import { systemClock } from "../backends/clock.ts";
import { childEnvironment } from "../backends/environment.ts";
import { spawn } from "../backends/spawn.ts";
import { inProcess } from "../core/in-process.ts";
import { LocalSessions } from "../core/sessions.ts";
import { createAccessFront } from "../fronts/native/access.ts";
import { createNativeFront } from "../fronts/native/front.ts";
import { signInPath } from "../fronts/native/signin.ts";
import { createId, createPrepare } from "../fronts/prepare.ts";
import { Keepers } from "../keeper/keepers.ts";
import { writeAtomically } from "../keeper/record.ts";
import { type Config, readTls } from "./config.ts";
import { anybody, type Listener, listen, type Route } from "./listen.ts";
import { keeperMetrics } from "./metrics.ts";
import { openStateDirectory } from "./state-directory.ts";
import { version } from "./version.ts";

/** How many ended sessions are kept to be read. */
const MAX_ENDED = 500;
/** How long `closed` waits for background children that keep the terminal or the pipes. */
const DRAIN_MS = 2_000;
/** How many seconds' worth of sessions may be made at once. */
const CREATE_BURST_S = 5;

export type ServerOptions = {
	/** Hears of what concerns no caller: failing disks, silent keepers, our own bugs. */
	readonly report: (problem: unknown, where: string) => void;
	/** Called at named points of the code, so that a test can crash the server there. */
	readonly passed?: (point: string) => void;
	/** Hears of every route there is, so that a test can try them all. */
	readonly onRoute?: (route: Route) => void;
};

export type Server = {
	readonly url: string;
	readonly adminToken: string;
	/** Signs in one browser, once and within five minutes; undefined when nobody has to. */
	readonly signInUrl: string | undefined;
	/** How many sessions were there before this server. */
	readonly adopted: number;
	/** Stops serving. Durable sessions go on; those that live in this process are ended. */
	close(): Promise<void>;
};

export async function startServer(config: Config, options: ServerOptions): Promise<Server> {
	const { report } = options;
	const tls = config.tls ? readTls(config.tls) : undefined;
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
		maxPerWorkspace: config.maxWorkspaceSessions,
		maxEnded: MAX_ENDED,
		onFailure: (error) => report(error, "sessions"),
	});
	try {
		const adopted = await keepers.open();
		for (const session of adopted) sessions.adopt(session);
		const adminToken = await state.adminToken(() => randomBytes(32).toString("base64url"));
		const access = await Access.open({
			adminToken,
			file: join(state.path, "tokens.json"),
			write: writeAtomically,
			clock: systemClock,
			randomBytes,
			isSecure: tls !== undefined || config.behindProxy,
			workspaceOf: (id) => sessions.get(id)?.spec.workspace,
			creationRate: { perSecond: config.createRate, burst: config.createRate * CREATE_BURST_S },
			report: (problem) => report(problem, "tokens"),
		});
		const failures = new Failures(systemClock);
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
			fronts: [
				createNativeFront({ sessions, prepare, metrics: () => keeperMetrics(keepers), version }),
				createAccessFront({ access, sessions }),
			],
			allowedHosts: config.allowedHosts,
			allowedOrigins: config.allowedOrigins,
			tls,
			behindProxy: config.behindProxy,
			authorize: config.auth ? (caller, policy) => access.authorize(caller, policy) : anybody,
			noteFailure: (address) => failures.note(address),
			maxAttachments: config.maxAttachments,
			maxConnections: config.maxConnections,
			report,
			...(options.onRoute ? { onRoute: options.onRoute } : {}),
		}).catch(async (error: unknown) => {
			await access.close();
			throw error;
		});
		await state.announce(listener.url);
		return {
			url: listener.url,
			adminToken,
			signInUrl: config.auth
				? `${publicUrl(config, listener)}${signInPath(access.createSignInCode(access.admin).code)}`
				: undefined,
			adopted: adopted.length,
			close: async () => {
				await listener.close();
				await access.close();
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

/** Where a browser finds us: under the first name that we were given, if there is one. */
function publicUrl({ allowedHosts: [name], behindProxy }: Config, { url, port }: Listener): string {
	if (name === undefined) return url;
	return behindProxy ? `https://${name}` : `${new URL(url).protocol}//${name}:${port}`;
}
