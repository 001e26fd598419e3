/** A server as it runs in production, but in this process, on a free port, with sessions that end with it. */

import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { adminOnly } from "../../src/access/fixed-access.ts";
import { childEnvironment } from "../../src/backends/environment.ts";
import { spawn } from "../../src/backends/spawn.ts";
import { systemClock } from "../../src/backends/system-clock.ts";
import type { Clock } from "../../src/core/async/clock.ts";
import type { CredentialPrincipal, Principal } from "../../src/core/policy/access.ts";
import { Approvals } from "../../src/core/policy/approvals.ts";
import { noAudit } from "../../src/core/policy/audit.ts";
import type { Spawn } from "../../src/core/process/process.ts";
import { inProcess } from "../../src/core/session/in-process-sessions.ts";
import { type SessionProvider, SessionRegistry } from "../../src/core/session/session-registry.ts";
import { writeAtomically } from "../../src/disk/write-atomically.ts";
import { createNativeFront } from "../../src/fronts/native/front.ts";
import type { SocketLimits } from "../../src/fronts/native/limits.ts";
import type { Front } from "../../src/http/front.ts";
import { listen, type Route } from "../../src/http/listen.ts";
import { answerCursorQueries } from "../../src/services/screens/cursor-replies.ts";
import { SessionScreens } from "../../src/services/screens/session-screens.ts";
import { SecretRequests } from "../../src/services/secrets/requests.ts";
import { createId, createPrepare } from "../../src/services/starts/prepare.ts";
import type { Prepare } from "../../src/services/starts/request.ts";
import type { Right } from "../../src/words/rights.ts";
import { StoredWorkspaces } from "../../src/workspaces/stored-workspaces.ts";
import { endAll } from "./end-all.ts";

export const TOKEN = "test-token";

export type TestServer = {
	readonly url: string;
	/** Serves a connection accepted elsewhere. */
	accept(connection: Duplex): void;
	readonly sessions: SessionRegistry;
	/** Internal errors that were reported. */
	readonly problems: unknown[];
	/** A request with the token, unless the headers override it. */
	request(path: string, init?: RequestInit): Promise<Response>;
	/** Creates a session and returns the server's answer. */
	create(body: object): Promise<{ id: string; [key: string]: unknown }>;
	close(): Promise<void>;
};

/** Dependencies of fronts beside the native one. */
type FrontParts = {
	readonly sessions: SessionRegistry;
	readonly secretRequests: SecretRequests;
	readonly prepare: Prepare;
};

export type TestServerOptions = {
	readonly maxRunning?: number;
	readonly memoryBytes?: number;
	readonly socketLimits?: Partial<SocketLimits>;
	readonly changeMs?: number | undefined;
	/** Callers besides the operator, by their tokens. */
	readonly principals?: Readonly<Record<string, Principal>>;
	/** Fronts besides the native one. */
	readonly fronts?: (parts: FrontParts) => Front[];
	readonly onRoute?: (route: Route) => void;
	/** The host of durable sessions. Default: this process, as for the others. */
	readonly durable?: SessionProvider;
	/** How programs of this process are started, and their clock, if not the usual ones. */
	readonly spawn?: Spawn;
	readonly clock?: Clock;
};

/** A caller with some rights in every workspace or in one. */
export function principalWith(
	rights: readonly Right[],
	options: Partial<CredentialPrincipal> = {},
): CredentialPrincipal {
	return {
		kind: "credential",
		id: rights.join("+"),
		account: options.id ?? rights.join("+"),
		name: rights.join("+"),
		isAdmin: false,
		maySeeMetrics: false,
		secrets: "type",
		makers: [],
		scopes: rights.map((right) => `workspace:default:${right}`),
		gate: null,
		expiresAt: null,
		may: (right) => rights.includes(right),
		revoked: new AbortController().signal,
		countCreation: () => 0,
		...options,
	};
}

export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
	const home = inProcess({ spawn: options.spawn ?? spawn, clock: options.clock ?? systemClock });
	const directory = await mkdtemp(join(tmpdir(), "hawser-workspaces-"));
	const workspaces = await StoredWorkspaces.open({ directory, write: writeAtomically, clock: systemClock });
	const sessions = new SessionRegistry({
		homes: { durable: options.durable ?? home, transient: home },
		maxRunning: options.maxRunning ?? 100,
		maxEnded: 100,
	});
	const prepare = createPrepare({
		defaults: {
			cwd: "/tmp",
			workspace: "default",
			durable: false,
			retention: { memoryBytes: options.memoryBytes ?? 1024 * 1024, journalBytes: 0 },
			drainMs: 500,
		},
		newId: () => createId(randomBytes),
		now: Date.now,
		environment: (request, { id }, base) => childEnvironment(process.env, request, id, base),
	});
	const problems: unknown[] = [];
	const screens = new SessionScreens({
		sessions,
		clock: systemClock,
		checkpointFile: () => undefined,
		report: (problem) => problems.push(problem),
	});
	const cursors = answerCursorQueries({
		sessions,
		screens,
		clock: systemClock,
		report: (problem) => problems.push(problem),
	});
	const secretRequests = new SecretRequests({ sessions, clock: systemClock, audit: noAudit });
	const operator = adminOnly(TOKEN);
	const listener = await listen({
		host: "127.0.0.1",
		port: 0,
		fronts: [
			createNativeFront({
				sessions,
				screens,
				workspaces,
				secretRequests,
				approvals: new Approvals({ clock: systemClock, newId: () => createId(randomBytes) }),
				prepare,
				clock: systemClock,
				version: "0.0.0-test",
				name: "test",
				limits: {
					sessions: options.maxRunning ?? 100,
					workspaceSessions: options.maxRunning ?? 100,
					journalBytes: 0,
					startsPerSecond: 0,
					retain: { memoryBytes: options.memoryBytes ?? 1024 * 1024, journalBytes: 0 },
				},
				socketLimits: options.socketLimits ?? {},
				changeMs: options.changeMs,
			}),
			...(options.fronts?.({ sessions, secretRequests, prepare }) ?? []),
		],
		authorize: async (caller) => options.principals?.[caller.credential ?? ""] ?? (await operator(caller)),
		...(options.onRoute ? { onRoute: options.onRoute } : {}),
		report: (problem) => problems.push(problem),
	});
	const request = (path: string, init: RequestInit = {}) =>
		fetch(`${listener.url}${path}`, { ...init, headers: { authorization: `Bearer ${TOKEN}`, ...init.headers } });
	return {
		url: listener.url,
		accept: (connection) => listener.accept(connection),
		sessions,
		problems,
		request,
		async create(body) {
			const response = await request("/v1/sessions", {
				method: "POST",
				headers: { "content-type": "application/json" },
				body: JSON.stringify(body),
			});
			const answer = (await response.json()) as { id: string };
			if (response.status !== 201) throw new Error(JSON.stringify(answer));
			return answer;
		},
		async close() {
			await listener.close();
			cursors.close();
			await screens.close();
			await endAll(sessions);
			await rm(directory, { recursive: true, force: true });
		},
	};
}

/** Polls like a client until nothing can follow. */
export async function readAll(server: TestServer, id: string): Promise<{ bytes: Buffer; headers: Headers }> {
	const chunks: Buffer[] = [];
	for (let since = 0; ; ) {
		const response = await server.request(`/v1/sessions/${id}/output?since=${since}&wait=20000`);
		chunks.push(Buffer.from(await response.arrayBuffer()));
		since = Number(response.headers.get("hawser-next"));
		const isEnd = since >= Number(response.headers.get("hawser-end"));
		if (response.headers.get("hawser-state") === "closed" && isEnd) {
			return { bytes: Buffer.concat(chunks), headers: response.headers };
		}
	}
}
