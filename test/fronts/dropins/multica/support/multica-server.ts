/** The Multica front beside the native one, with real credentials and workspaces, in this process, on a free port. */

import { randomBytes, randomUUID } from "node:crypto";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { FailedLogins } from "../../../../../src/access/failed-logins.ts";
import { parseJwtKey } from "../../../../../src/access/jwt.ts";
import { JwtBearers } from "../../../../../src/access/jwt-callers.ts";
import { LocalAccess } from "../../../../../src/access/local-access.ts";
import { childEnvironment } from "../../../../../src/backends/environment.ts";
import { spawn } from "../../../../../src/backends/spawn.ts";
import { systemClock } from "../../../../../src/backends/system-clock.ts";
import type { Clock } from "../../../../../src/core/async/clock.ts";
import { inProcess } from "../../../../../src/core/session/in-process-sessions.ts";
import type { Session } from "../../../../../src/core/session/session.ts";
import { type SessionProvider, SessionRegistry } from "../../../../../src/core/session/session-registry.ts";
import type { TaskRequest, Workspaces } from "../../../../../src/core/session/workspaces.ts";
import { writeAtomically } from "../../../../../src/disk/write-atomically.ts";
import { createMulticaFront } from "../../../../../src/fronts/dropins/multica/front.ts";
import type { MulticaOptions } from "../../../../../src/fronts/dropins/multica/options.ts";
import { listen } from "../../../../../src/http/listen.ts";
import { createId, createPrepare } from "../../../../../src/services/starts/prepare.ts";
import { StoredWorkspaces } from "../../../../../src/workspaces/stored-workspaces.ts";
import { AUDIENCE, hmacSigner, ISSUER } from "../../../../access/jwt-signer.ts";
import { endAll } from "../../../../support/end-all.ts";
import { operator } from "../../../../support/owner.ts";
import { temporaryDirectory } from "../../../../support/temporary.ts";

export const WORKSPACE = "11111111-2222-4333-8444-555555555555";
export const OTHER_WORKSPACE = "99999999-2222-4333-8444-555555555555";
export const ISSUE = "aaaaaaaa-2222-4333-8444-000000002295";
export const TASK = "bbbbbbbb-2222-4333-8444-000000000001";

export type MulticaServer = {
	readonly url: string;
	readonly sessions: SessionRegistry;
	readonly workspaces: Workspaces;
	readonly access: LocalAccess;
	/** Internal errors that were reported. */
	readonly problems: unknown[];
	/** The directory of the default task. */
	readonly workDir: string;
	readonly adminToken: string;
	/** A token with these scopes. Default: all rights in the default workspace. */
	token(...scopes: string[]): Promise<string>;
	/** A JWT of the trusted issuer. */
	jwt(claims: object): string;
	/** Running terminals, oldest first. */
	running(): Session[];
	/** Stops serving. Sessions of keepers continue. Idempotent. */
	close(): Promise<void>;
};

export type MulticaServerOptions = Partial<Pick<MulticaOptions, "graceMs" | "idleMs" | "times" | "clock">> & {
	/** The clock for JWT expiry. */
	readonly jwtClock?: Clock;
	/** The host of durable sessions. Default: this process, as for the others. */
	readonly durable?: SessionProvider;
	/** Sessions that existed before. */
	readonly adopted?: readonly Session[];
	readonly allowedOrigins?: readonly string[];
	/** The store of workspaces. Default: a new directory. */
	readonly directory?: string;
	readonly maxRunning?: number;
	readonly home?: (home: SessionProvider) => SessionProvider;
};

/** With one workspace that has one task of one issue. */
export async function startMultica(options: MulticaServerOptions = {}): Promise<MulticaServer> {
	const problems: unknown[] = [];
	const report = (problem: unknown) => void problems.push(problem);
	const directory = options.directory ?? (await temporaryDirectory());
	const inside = inProcess({ spawn, clock: systemClock, onFailure: report });
	const home = options.home?.(inside) ?? inside;
	const workspaces = await StoredWorkspaces.open({
		directory: join(directory, "workspaces"),
		write: writeAtomically,
		clock: systemClock,
	});
	const sessions = new SessionRegistry({
		homes: { durable: options.durable ?? home, transient: home },
		workspaces,
		maxRunning: options.maxRunning ?? 300,
		maxEnded: 300,
		onFailure: report,
	});
	for (const session of options.adopted ?? []) sessions.adopt(session);
	const signer = hmacSigner();
	const rules = { key: parseJwtKey(signer.keyFile), issuer: ISSUER, audience: AUDIENCE };
	const creationRate = { perSecond: 1_000, burst: 10_000 };
	const jwts = new JwtBearers({ rules, clock: options.jwtClock ?? systemClock, creationRate });
	const adminToken = randomBytes(32).toString("base64url");
	const access = await LocalAccess.open({
		adminToken,
		file: join(directory, "tokens.json"),
		write: writeAtomically,
		clock: systemClock,
		randomBytes,
		isSecure: false,
		workspaceOf: (id) => sessions.get(id)?.spec.workspace,
		creationRate,
		verify: (credential) => jwts.verify(credential),
		report,
	});
	const front = createMulticaFront({
		sessions,
		prepare: createPrepare({
			defaults: {
				cwd: "/tmp",
				workspace: "default",
				durable: true,
				retention: { memoryBytes: 1024 * 1024, journalBytes: 64 * 1024 * 1024 },
				drainMs: 500,
			},
			task: (workspace, id) => workspaces.task(workspace, id),
			newId: () => createId(randomBytes),
			now: Date.now,
			// A home without a profile: a login shell's profile must neither delay a test nor be interrupted by one.
			environment: (request, { id }) => childEnvironment({ ...process.env, HOME: directory }, request, id),
		}),
		workspaces,
		clock: options.clock ?? systemClock,
		newUuid: randomUUID,
		graceMs: options.graceMs ?? 60_000,
		idleMs: options.idleMs ?? 0,
		times: options.times ?? {},
	});
	const failures = new FailedLogins(systemClock);
	const listener = await listen({
		host: "127.0.0.1",
		port: 0,
		fronts: [front],
		authorize: (caller) => access.authorize(caller),
		noteFailure: (address) => failures.note(address),
		allowedOrigins: options.allowedOrigins ?? [],
		report,
	});
	const close = async () => {
		await listener.close();
		const mine = sessions.list().filter(({ spec }) => !(spec.durable && options.durable));
		await endAll(sessions, mine);
		jwts.close();
		await access.close();
	};
	onTestFinished(close);
	const workDir = await temporaryDirectory();
	const server: MulticaServer = {
		url: listener.url,
		sessions,
		workspaces,
		access,
		problems,
		workDir,
		adminToken,
		token: async (...scopes) => {
			const usual = [`workspace:${WORKSPACE}:manage`];
			return (await access.createToken(access.admin, { scopes: scopes.length === 0 ? usual : scopes })).secret;
		},
		jwt: (claims) => signer.sign(claims),
		running: () => sessions.list().filter(({ state }) => state.status === "running"),
		close,
	};
	await workspaces.put(WORKSPACE, { name: "ours", roots: [] });
	await putTask(server, TASK, {});
	return server;
}

export function putTask({ workspaces, workDir }: MulticaServer, id: string, request: Partial<TaskRequest>) {
	return workspaces.putTask(WORKSPACE, id, { workDir, issueId: ISSUE, issueKey: "MUL-2295", ...request }, operator);
}
