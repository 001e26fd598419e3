/** The Multica front beside the native one, with real credentials and workspaces, in this process, on a free port. */

import { randomBytes, randomUUID } from "node:crypto";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { parseJwtKey } from "../../../src/access/jwt.ts";
import { JwtBearers } from "../../../src/access/jwt-bearers.ts";
import { LocalAccess } from "../../../src/access/local-access.ts";
import { Failures } from "../../../src/access/rate.ts";
import { systemClock } from "../../../src/backends/clock.ts";
import { childEnvironment } from "../../../src/backends/environment.ts";
import { spawn } from "../../../src/backends/spawn.ts";
import type { Clock } from "../../../src/core/clock.ts";
import { inProcess } from "../../../src/core/in-process.ts";
import type { Session } from "../../../src/core/session.ts";
import { type Home, LocalSessions } from "../../../src/core/sessions.ts";
import type { TaskRequest, Workspaces } from "../../../src/core/workspaces.ts";
import { writeAtomically } from "../../../src/disk/write-atomically.ts";
import { createMulticaFront } from "../../../src/fronts/multica/front.ts";
import type { MulticaOptions } from "../../../src/fronts/multica/options.ts";
import { createId, createPrepare } from "../../../src/fronts/prepare.ts";
import { listen } from "../../../src/server/listen.ts";
import { StoredWorkspaces } from "../../../src/workspaces/stored-workspaces.ts";
import { AUDIENCE, hmacSigner, ISSUER } from "../../access/jwt-signer.ts";
import { endAll } from "../../helpers/end-all.ts";
import { temporaryDirectory } from "../../helpers/temporary.ts";

export const WORKSPACE = "11111111-2222-4333-8444-555555555555";
export const OTHER_WORKSPACE = "99999999-2222-4333-8444-555555555555";
export const ISSUE = "aaaaaaaa-2222-4333-8444-000000002295";
export const TASK = "bbbbbbbb-2222-4333-8444-000000000001";

export type MulticaServer = {
	readonly url: string;
	readonly sessions: LocalSessions;
	readonly workspaces: Workspaces;
	readonly access: LocalAccess;
	/** What was reported as our own fault. */
	readonly problems: unknown[];
	/** Where the usual task works. */
	readonly workDir: string;
	readonly adminToken: string;
	/** A token with these scopes; with all rights in the usual workspace, if none are given. */
	token(...scopes: string[]): Promise<string>;
	/** A JWT of the one who is believed here. */
	jwt(claims: object): string;
	/** Terminals that run, oldest first. */
	running(): Session[];
	/** Stops serving; sessions of keepers go on. Idempotent. */
	close(): Promise<void>;
};

export type MulticaServerOptions = Partial<Pick<MulticaOptions, "graceMs" | "idleMs" | "times" | "clock">> & {
	/** By which JWTs end. */
	readonly jwtClock?: Clock;
	/** Where durable sessions live; in this process, like the others, if left out. */
	readonly durable?: Home;
	/** Sessions that were there before. */
	readonly adopted?: readonly Session[];
	readonly allowedOrigins?: readonly string[];
	/** Where workspaces are kept; in a new directory, if left out. */
	readonly directory?: string;
	readonly maxRunning?: number;
	readonly home?: (home: Home) => Home;
};

/** With one workspace, and in it one task of one issue. */
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
	const sessions = new LocalSessions({
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
			// A home without a profile: what a login shell does there must not be in a test's way, nor be cut off by one.
			environment: (request, id) => childEnvironment({ ...process.env, HOME: directory }, request, id),
		}),
		workspaces,
		clock: options.clock ?? systemClock,
		newUuid: randomUUID,
		graceMs: options.graceMs ?? 60_000,
		idleMs: options.idleMs ?? 0,
		times: options.times ?? {},
	});
	const failures = new Failures(systemClock);
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
	return workspaces.putTask(WORKSPACE, id, { workDir, issueId: ISSUE, issueKey: "MUL-2295", ...request });
}
