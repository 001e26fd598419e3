/** The OpenSandbox front as `hawser execd` serves it, in this process, on a free port. */

import { randomBytes, randomUUID } from "node:crypto";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { adminOnly, anybody } from "../../../src/access/fixed.ts";
import { systemClock } from "../../../src/backends/clock.ts";
import { childEnvironment, wholeEnvironment } from "../../../src/backends/environment.ts";
import { spawn } from "../../../src/backends/spawn.ts";
import type { Authorize } from "../../../src/core/access.ts";
import { inProcess } from "../../../src/core/in-process.ts";
import type { Session } from "../../../src/core/session.ts";
import { type Home, LocalSessions } from "../../../src/core/sessions.ts";
import { JsonFile } from "../../../src/disk/json-file.ts";
import { createOpenSandboxFront } from "../../../src/fronts/opensandbox/front.ts";
import type { OpenSandboxOptions, RecordFile } from "../../../src/fronts/opensandbox/options.ts";
import type { Times } from "../../../src/fronts/opensandbox/times.ts";
import { createId, createPrepare } from "../../../src/fronts/prepare.ts";
import { createBudgets } from "../../../src/server/budgets.ts";
import { listen } from "../../../src/server/listen.ts";
import { endAll } from "../../helpers/end-all.ts";
import { KeeperSite } from "../../helpers/keepers.ts";
import { temporaryDirectory } from "../../helpers/temporary.ts";

export type ExecdServer = {
	readonly url: string;
	readonly sessions: LocalSessions;
	/** What was reported as our own fault. */
	readonly problems: unknown[];
	/** A request with the token, if there is one, unless the headers say otherwise. */
	request(path: string, init?: RequestInit): Promise<Response>;
	/** The same as POST with a JSON body, or none. */
	post(path: string, body?: unknown): Promise<Response>;
	/** Stops serving and ends what lives in this process; sessions of keepers go on. Idempotent. */
	close(): Promise<void>;
};

export type ExecdServerOptions = Partial<
	Pick<OpenSandboxOptions, "environment" | "envFile" | "cwd" | "records" | "spoolDirectory" | "times">
> & {
	readonly accessToken?: string;
	/** Who callers are, instead of everybody or who has the token. */
	readonly authorize?: Authorize;
	/** Where durable sessions live; in this process, like the others, if left out. */
	readonly durable?: Home;
	/** Where the others live; in this process, if left out. */
	readonly transient?: Home;
	/** Sessions that were there before. */
	readonly adopted?: readonly Session[];
	/** Whether durable sessions outlive the server. */
	readonly areKept?: boolean;
	readonly maxRunning?: number;
	readonly maxAttachments?: number;
};

/** All sessions live in this process: fast, and gone with the server. */
export async function startExecd(options: ExecdServerOptions = {}): Promise<ExecdServer> {
	const problems: unknown[] = [];
	const home = inProcess({ spawn, clock: systemClock, onFailure: (error) => problems.push(error) });
	const sessions = new LocalSessions({
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
			environment: (request, id, base) => childEnvironment(process.env, request, id, base),
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
		isOpen: accessToken === undefined ? "to programs" : "to everybody",
		fronts: [front],
		authorize: options.authorize ?? (accessToken === undefined ? anybody : adminOnly(accessToken)),
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

/** Durable sessions live in real keepers. The next server on the same site finds them again, and the records. */
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

/** For what comes after the end of a shell: it is waited for until it has come, on however busy a machine. */
export const untilItComes: Partial<Times> = { drainMs: 15_000 };

/** A home in this process where nothing starts until the gate is opened. */
export function gatedHome(): { readonly home: Home; readonly open: () => void } {
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
			keep: (spec, facts) => home.keep(spec, facts),
			forget: (session, how) => home.forget(session, how),
			rename: (session, name) => home.rename(session, name),
			excessBytes: () => home.excessBytes(),
			keptBytes: (session) => home.keptBytes(session),
		},
		open,
	};
}

/** What a record file is without a disk: as good for one server, and for the next one in the same test. */
export class MemoryFile implements RecordFile {
	#text: string | undefined;

	async read(): Promise<unknown> {
		return this.#text === undefined ? undefined : (JSON.parse(this.#text) as unknown);
	}

	async write(value: unknown): Promise<void> {
		this.#text = JSON.stringify(value);
	}
}
