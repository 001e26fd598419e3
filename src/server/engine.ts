/** What all fronts stand on: the state directory, the sessions and where they live, and who may do what. */

import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { JwtBearers } from "../access/jwt-bearers.ts";
import { LocalAccess } from "../access/local-access.ts";
import type { AuditLog } from "../audit/audit-log.ts";
import { systemClock } from "../backends/clock.ts";
import { childEnvironment } from "../backends/environment.ts";
import { readInherited } from "../backends/inherited.ts";
import { spawn } from "../backends/spawn.ts";
import type { Verify } from "../core/access.ts";
import { inProcess } from "../core/in-process.ts";
import type { SandboxSupport } from "../core/sandbox.ts";
import { LocalSessions, MAX_RETENTION } from "../core/sessions.ts";
import { defaultWorkspace, type Workspaces } from "../core/workspaces.ts";
import type { Prepare } from "../fronts/front.ts";
import { createId, createNodeCode, createPrepare } from "../fronts/prepare.ts";
import { Keepers } from "../keepers/keepers.ts";
import { skim } from "../native/addon.ts";
import { confined } from "../sandbox/sandbox.ts";
import { BackgroundDrawing } from "../screen/background-drawing.ts";
import { CursorReplies } from "../screen/cursor-replies.ts";
import { SessionScreens } from "../screen/screens.ts";
import { withHooks } from "../shell/hooks.ts";
import type { DeliveryTimes } from "../webhooks/courier.ts";
import { StoredWebhooks } from "../webhooks/stored-webhooks.ts";
import { StoredWorkspaces } from "../workspaces/stored-workspaces.ts";
import { type Config, readJwtRules } from "./config.ts";
import { openLocalSandbox } from "./local-sandbox.ts";
import { openAudit, recordEndings } from "./open-audit.ts";
import { openStateDirectory, type StateDirectory } from "./state-directory.ts";
import { version } from "./version.ts";

/** How many ended sessions are kept to be read. */
const MAX_ENDED = 500;
/** How long `closed` waits for background children that keep the terminal or the pipes. */
const DRAIN_MS = 2_000;
/** How many seconds' worth of sessions may be made at once. */
const CREATE_BURST_S = 5;

export type EngineOptions = {
	/** Hears of what concerns no caller: failing disks, silent keepers, our own bugs. */
	readonly report: (problem: unknown, where: string) => void;
	/** Called at named points of the code, so that a test can crash the server there. */
	readonly passed?: (point: string) => void;
	/** Whether browsers reach us over TLS, whoever does it. */
	readonly isSecure: boolean;
	/** Files that no program in a sandbox may see, besides our own directories. */
	readonly hidden: readonly string[];
	/** Is asked about credentials that are neither tokens of this server nor JWTs by its settings. */
	readonly verify?: Verify;
	/** When webhooks are told again, instead of the usual times, for tests that do not want to wait. */
	readonly webhookTimes?: Partial<DeliveryTimes>;
};

export type Engine = {
	readonly state: StateDirectory;
	readonly keepers: Keepers;
	readonly sessions: LocalSessions;
	/** What their terminals show. */
	readonly screens: SessionScreens;
	readonly workspaces: Workspaces;
	/** Who is told what happens. */
	readonly webhooks: StoredWebhooks;
	/** What programs may be kept from here. */
	readonly sandbox: SandboxSupport;
	readonly access: LocalAccess;
	/** The record of who did what, where one is kept. */
	readonly audit: AuditLog | undefined;
	readonly adminToken: string;
	readonly prepare: Prepare;
	/** How many sessions were there before this server. */
	readonly adopted: number;
};

/** Whatever is opened is to be closed again by `onClose`, the last first, also when something later fails. */
export async function openEngine(
	config: Config,
	{ report, passed, isSecure, hidden, verify, webhookTimes }: EngineOptions,
	onClose: (close: () => Promise<unknown>) => void,
): Promise<Engine> {
	const jwtRules = config.jwt ? readJwtRules(config.jwt) : undefined;
	const state = await openStateDirectory(config.stateDir, config.runtimeDir, () => createNodeCode(randomBytes));
	onClose(() => state.release());
	const workspaces = await StoredWorkspaces.open({
		directory: state.workspaces,
		write: state.write,
		clock: systemClock,
	});
	const startedAt = systemClock.now();
	const audit = await openAudit(config, (problem) => report(problem, "audit"));
	onClose(async () => {
		audit?.record({ action: "stop", by: null });
		await audit?.close();
	});
	const lastTime = audit?.lastTime;
	audit?.record({ action: "start", version, by: null });
	const keepers = new Keepers({
		directory: state.sessions,
		socketDirectory: state.sockets,
		generation: state.generation,
		spares: config.spares,
		fsync: config.fsync,
		maxDiskBytes: config.maxDiskBytes,
		clock: systemClock,
		newEpoch: () => randomBytes(8).toString("hex"),
		logFile: state.keeperLog,
		report: (problem) => report(problem, "keepers"),
		...(passed ? { passed } : {}),
	});
	onClose(() => keepers.close());
	const sandbox = await openLocalSandbox([state.path, state.sockets, ...hidden], config.cgroup);
	// Whatever is there is of sessions that have ended with the server before.
	await rm(state.shells, { recursive: true, force: true });
	const local = inProcess({
		spawn,
		clock: systemClock,
		skim,
		hook: (start) => withHooks(start, join(state.shells, start.spec.id)),
		onFailure: (error) => report(error, "session"),
	});
	const sessions = new LocalSessions({
		homes: { durable: confined(keepers, sandbox), transient: confined(local, sandbox) },
		maxRunning: config.maxSessions,
		maxPerWorkspace: config.maxWorkspaceSessions,
		workspaces,
		maxEnded: MAX_ENDED,
		// What the operator gives to every session is never too much for one.
		maxRetention: {
			memoryBytes: Math.max(MAX_RETENTION.memoryBytes, config.retention.memoryBytes),
			journalBytes: Math.max(MAX_RETENTION.journalBytes, config.retention.journalBytes),
		},
		onFailure: (error) => report(error, "sessions"),
	});
	onClose(() => sessions.endTransient());
	const screens = new SessionScreens({
		sessions,
		clock: systemClock,
		checkpointFile: ({ id, spec }) => (spec.durable ? join(state.sessions, id, "screens") : undefined),
		report: (problem) => report(problem, "screens"),
	});
	onClose(() => screens.close());
	const adopted = await keepers.open();
	for (const session of adopted) sessions.adopt(session);
	const cursors = new CursorReplies({ sessions, screens, report: (problem) => report(problem, "screens") });
	onClose(async () => cursors.close());
	const drawing = new BackgroundDrawing({
		sessions,
		screens,
		clock: systemClock,
		report: (problem) => report(problem, "screens"),
	});
	onClose(async () => drawing.close());
	const webhooks = await StoredWebhooks.open({
		directory: state.webhooks,
		clock: systemClock,
		randomBytes,
		report: (problem) => report(problem, "webhooks"),
		times: webhookTimes,
	});
	onClose(() => webhooks.close());
	if (audit) recordEndings(sessions, audit, { startedAt, lastTime });
	const adminToken = await state.adminToken(() => randomBytes(32).toString("base64url"));
	const creationRate = { perSecond: config.createRate, burst: config.createRate * CREATE_BURST_S };
	const jwts = jwtRules && new JwtBearers({ rules: jwtRules, clock: systemClock, creationRate });
	onClose(async () => jwts?.close());
	const access = await LocalAccess.open({
		adminToken,
		file: join(state.path, "tokens.json"),
		write: state.write,
		clock: systemClock,
		randomBytes,
		isSecure,
		workspaceOf: (id) => sessions.get(id)?.spec.workspace,
		creationRate,
		verify: (credential) => jwts?.verify(credential) ?? verify?.(credential),
		report: (problem) => report(problem, "tokens"),
	});
	onClose(() => access.close());
	const prepare = createPrepare({
		defaults: {
			cwd: config.cwd,
			workspace: defaultWorkspace,
			durable: true,
			retention: config.retention,
			drainMs: DRAIN_MS,
			inherited: readInherited(),
		},
		newId: () => createId(randomBytes, state.node),
		task: (workspace, id) => workspaces.task(workspace, id),
		now: () => systemClock.now(),
		environment: (request, id, base) => childEnvironment(process.env, request, id, base),
	});
	return {
		state,
		keepers,
		sessions,
		screens,
		workspaces,
		webhooks,
		sandbox: sandbox.describe(),
		access,
		audit,
		adminToken,
		prepare,
		adopted: adopted.length,
	};
}
