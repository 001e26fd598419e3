/** The OpenSandbox front as `hawser execd` serves it, in this process, on a free port. */

import { randomBytes, randomUUID } from "node:crypto";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { adminOnly, allowAnyone } from "../../../../../src/access/fixed-access.ts";
import { childEnvironment, wholeEnvironment } from "../../../../../src/backends/environment.ts";
import { spawn } from "../../../../../src/backends/spawn.ts";
import { systemClock } from "../../../../../src/backends/system-clock.ts";
import type { Authorize } from "../../../../../src/core/policy/access.ts";
import { inProcess } from "../../../../../src/core/session/in-process-sessions.ts";
import type { Session } from "../../../../../src/core/session/session.ts";
import { type SessionProvider, SessionRegistry } from "../../../../../src/core/session/session-registry.ts";
import { JsonFile } from "../../../../../src/disk/json-file.ts";
import { createOpenSandboxFront } from "../../../../../src/fronts/dropins/opensandbox/front.ts";
import type { OpenSandboxLimits } from "../../../../../src/fronts/dropins/opensandbox/limits.ts";
import type { OpenSandboxOptions, RecordFile } from "../../../../../src/fronts/dropins/opensandbox/options.ts";
import { createBudgets } from "../../../../../src/http/limits/budgets.ts";
import { listen } from "../../../../../src/http/listen.ts";
import { createId, createPrepare } from "../../../../../src/services/starts/prepare.ts";
import { endAll } from "../../../../support/end-all.ts";
import { KeeperSite } from "../../../../support/keeper-site.ts";
import { temporaryDirectory } from "../../../../support/temporary.ts";

export type ExecdServer = {
	readonly url: string;
	readonly sessions: SessionRegistry;
	/** Internal errors that were reported. */
	readonly problems: unknown[];
	/** A request with the token, if there is one, unless the headers override it. */
	request(path: string, init?: RequestInit): Promise<Response>;
	/** The same as POST with a JSON body or none. */
	post(path: string, body?: unknown): Promise<Response>;
	/** Stops serving and ends the sessions of this process. Sessions of keepers continue. Idempotent. */
	close(): Promise<void>;
};

export type ExecdServerOptions = Partial<
	Pick<OpenSandboxOptions, "environment" | "envFile" | "cwd" | "records" | "spoolDirectory" | "times">
> & {
	readonly accessToken?: string;
	/** The access check. Default: everyone, or callers with the token. */
	readonly authorize?: Authorize;
	/** The host of durable sessions. Default: this process, as for the others. */
	readonly durable?: SessionProvider;
	/** The host of other sessions. Default: this process. */
	readonly transient?: SessionProvider;
	/** Sessions that existed before. */
	readonly adopted?: readonly Session[];
	/** Whether durable sessions outlive the server. */
	readonly areKept?: boolean;
	readonly maxRunning?: number;
	readonly maxAttachments?: number;
};

/** All sessions run in this process: fast, and gone with the server. */
export async function startExecd(options: ExecdServerOptions = {}): Promise<ExecdServer> {
	const problems: unknown[] = [];
	const home = inProcess({ spawn, clock: systemClock, onFailure: (error) => problems.push(error) });
	const sessions = new SessionRegistry({
		homes: { durable: options.durable ?? home, transient: options.transient ?? home },
		maxRunning: options.maxRunning ?? 200,
		maxEnded: 100,
		onFailure: (error) => problems.push(error),
	});
	for (const session of options.adopted ?? []) sessions.adopt(session);
	const { accessToken, cwd = "/tmp" } = options;
	const spoolDirectory = options.spoolDirectory ?? join(await temporaryDirectory(), "uploads");
	const front = createOpenSandboxFront({
		path: "/",
		sessions,
		prepare: createPrepare({
			defaults: {
				cwd,
				workspace: "default",
				durable: true,
				retention: { memoryBytes: 1024 * 1024, journalBytes: 64 * 1024 * 1024 },
				drainMs: 2_000,
			},
			newId: () => createId(randomBytes),
			now: Date.now,
			environment: (request, { id }, base) => childEnvironment(process.env, request, id, base),
		}),
		environment: options.environment ?? (() => wholeEnvironment(process.env)),
		envFile: options.envFile,
		cwd,
		spoolDirectory,
		records: options.records ?? new MemoryFile(),
		clock: systemClock,
		newUuid: randomUUID,
		times: options.times ?? {},
	});
	const listener = await listen({
		host: "127.0.0.1",
		port: 0,
		maxHeadBytes: 1024 * 1024,
		hasLongBodies: true,
		isOpen: accessToken === undefined ? "to programs" : "to all",
		fronts: [front],
		authorize: options.authorize ?? (accessToken === undefined ? allowAnyone : adminOnly(accessToken)),
		budgets: createBudgets(options.maxAttachments),
		report: (problem) => problems.push(problem),
	});
	const request = (path: string, init: RequestInit = {}) =>
		fetch(`${listener.url}${path}`, {
			redirect: "manual",
			...init,
			headers: { ...(accessToken === undefined ? {} : { "x-execd-access-token": accessToken }), ...init.headers },
		});
	const close = async () => {
		await listener.close();
		const mine = sessions.list().filter(({ spec }) => !(spec.durable && options.areKept));
		await endAll(sessions, mine);
	};
	onTestFinished(close);
	return {
		url: listener.url,
		sessions,
		problems,
		request,
		post: (path, body) =>
			request(path, { method: "POST", ...(body === undefined ? {} : { body: JSON.stringify(body) }) }),
		close,
	};
}

/** Durable sessions run in real keepers. The next server on the same site finds them and the records. */
export async function startKeptExecd(
	site: KeeperSite,
	options: Omit<ExecdServerOptions, "durable" | "areKept" | "adopted" | "records"> = {},
): Promise<ExecdServer> {
	const { keepers, adopted } = await site.open();
	const records = new JsonFile(join(site.directory, "opensandbox.json"));
	const server = await startExecd({ ...options, durable: keepers, areKept: true, adopted, records });
	return {
		...server,
		async close() {
			await server.close();
			await keepers.close();
		},
	};
}

export { KeeperSite };

/** For output after a shell's exit. Long enough for a busy machine. */
export const untilItComes: Partial<OpenSandboxLimits> = { drainMs: 15_000 };

/** A session host in this process that starts nothing until the gate opens. */
export function gatedHome(): { readonly home: SessionProvider; readonly open: () => void } {
	const home = inProcess({ spawn, clock: systemClock });
	let open = () => {};
	const gate = new Promise<void>((resolve) => {
		open = resolve;
	});
	return {
		home: {
			start: async (start) => {
				await gate;
				return home.start(start);
			},
			import: (spec, facts) => home.import(spec, facts),
			forget: (session, how) => home.forget(session, how),
			rename: (session, name) => home.rename(session, name),
			excessBytes: () => home.excessBytes(),
			keptBytes: (session) => home.keptBytes(session),
		},
		open,
	};
}

/** A record file without a disk, for one server and the next in the same test. */
export class MemoryFile implements RecordFile {
	#text: string | undefined;

	async read(): Promise<unknown> {
		return this.#text === undefined ? undefined : (JSON.parse(this.#text) as unknown);
	}

	async write(value: unknown): Promise<void> {
		this.#text = JSON.stringify(value);
	}
}
