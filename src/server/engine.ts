/** The parts shared by all fronts: state directory, sessions and their homes, access. */

import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { anybodyId } from "../access/fixed-access.ts";
import { JwtBearers } from "../access/jwt-callers.ts";
import { LocalAccess } from "../access/local-access.ts";
import type { AuditLog } from "../audit/audit-log.ts";
import { childEnvironment, hookVariables, inheritedFrom } from "../backends/environment.ts";
import { readInherited } from "../backends/inherited-limits.ts";
import { withHooks } from "../backends/shell-hooks.ts";
import { spawn } from "../backends/spawn.ts";
import { systemClock } from "../backends/system-clock.ts";
import type { Verify } from "../core/policy/access.ts";
import type { SandboxSupport } from "../core/process/sandbox-policy.ts";
import { inProcess } from "../core/session/in-process-sessions.ts";
import { MAX_RETENTION, SessionRegistry } from "../core/session/session-registry.ts";
import { defaultWorkspace, type Workspaces } from "../core/session/workspaces.ts";
import { DurableSessions } from "../keeper/client/durable-sessions.ts";
import { checkpointFile } from "../keeper/link/session-record.ts";
import { builtFile, skim } from "../native/addon.ts";
import { confined } from "../sandbox/sandbox.ts";
import { BackgroundRendering } from "../services/screens/background-rendering.ts";
import { answerCursorQueries } from "../services/screens/cursor-replies.ts";
import { SessionScreens } from "../services/screens/session-screens.ts";
import { createId, createNodeCode, createPrepare } from "../services/starts/prepare.ts";
import type { Prepare } from "../services/starts/request.ts";
import { StoredWebhooks } from "../services/webhooks/stored-webhooks.ts";
import type { DeliveryTimes } from "../services/webhooks/webhook-sender.ts";
import { StoredWorkspaces } from "../workspaces/stored-workspaces.ts";
import { openAudit, recordEndings } from "./audit.ts";
import { type Config, readJwtRules } from "./config.ts";
import { openLocalSandbox } from "./local-sandbox.ts";
import { openStateDirectory, type StateDirectory } from "./state-directory.ts";
import { version } from "./version.ts";

/**
 * Ended sessions kept for reading.
 * @limit ended sessions | the oldest is forgotten, with its journal
 */
const MAX_ENDED = 500;
/**
 * Time between `exited` and `closed` for background children that hold the terminal or the pipes.
 * @limit from `exited` to `closed`, if children hold the terminal or the pipes | what is there is read, then `closed`
 */
const DRAIN_MS = 2_000;
/** The program that agents run as a hook. */
const hookProgram = builtFile("report");
/** Burst of starts, in seconds' worth of the rate. */
const CREATE_BURST_S = 5;

export type EngineOptions = {
	/** Reports problems without a caller: failing disks, unresponsive keepers, internal errors. */
	readonly report: (problem: unknown, where: string) => void;
	/** Called at named points, so that tests can crash the server there. */
	readonly passed?: (point: string) => void;
	/** Whether browsers reach the server over TLS, terminated here or by a proxy. */
	readonly isSecure: boolean;
	/** Files hidden from all sandboxed programs, besides our own directories. */
	readonly hidden: readonly string[];
	/** Checks credentials that are neither tokens of this server nor accepted JWTs. */
	readonly verify?: Verify;
	/** Overrides of the retry times of webhooks, for tests. */
	readonly webhookTimes?: Partial<DeliveryTimes>;
};

export type Engine = {
	readonly state: StateDirectory;
	readonly keepers: DurableSessions;
	readonly sessions: SessionRegistry;
	/** Rendered screens of the sessions. */
	readonly screens: SessionScreens;
	readonly workspaces: Workspaces;
	readonly webhooks: StoredWebhooks;
	/** Sandboxes that can be enforced. */
	readonly sandbox: SandboxSupport;
	readonly access: LocalAccess;
	/** The audit log, if one is kept. */
	readonly audit: AuditLog | undefined;
	readonly adminToken: string;
	readonly prepare: Prepare;
	/** Number of sessions taken over from a previous server. */
	readonly adopted: number;
};

/** Each opened part registers its closing with `onClose`, to run in reverse order, also if a later step fails. */
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
	const keepers = new DurableSessions({
		directory: state.sessions,
		socketDirectory: state.sockets,
		generation: state.generation,
		spares: config.spares,
		fsync: config.fsync,
		maxDiskBytes: config.maxDiskBytes,
		clock: systemClock,
		newEpoch: () => randomBytes(8).toString("hex"),
		logFile: state.keeperLog,
		write: state.write,
		report: (problem) => report(problem, "keepers"),
		...(passed ? { passed } : {}),
	});
	onClose(() => keepers.close());
	const sandbox = await openLocalSandbox([state.path, state.sockets, ...hidden], config.cgroup);
	// Leftovers belong to sessions that ended with the previous server.
	await rm(state.shells, { recursive: true, force: true });
	const local = inProcess({
		spawn,
		clock: systemClock,
		skim,
		hook: (command, id) => withHooks(command, join(state.shells, id)),
		onFailure: (error) => report(error, "session"),
	});
	const sessions = new SessionRegistry({
		homes: { durable: confined(keepers, sandbox), transient: confined(local, sandbox) },
		maxRunning: config.maxSessions,
		maxPerWorkspace: config.maxWorkspaceSessions,
		workspaces,
		maxEnded: MAX_ENDED,
		// The operator's default retention is always allowed.
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
		checkpointFile: ({ id, spec }) => (spec.durable ? checkpointFile(join(state.sessions, id)) : undefined),
		report: (problem) => report(problem, "screens"),
	});
	onClose(() => screens.close());
	const adopted = await keepers.open();
	for (const session of adopted) sessions.adopt(session);
	const cursors = answerCursorQueries({
		sessions,
		screens,
		clock: systemClock,
		report: (problem) => report(problem, "screens"),
	});
	onClose(async () => cursors.close());
	const drawing = new BackgroundRendering({
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
		allowsLinkLocal: config.webhookLinkLocal,
		revocationOf: (owner) => {
			if (owner === anybodyId && !config.auth) return access.admin.revoked;
			return access.revocationOf(owner);
		},
		onEnd: (action, { id, owner, workspace }) => {
			const deed = action === "webhook-stopped" ? { action, webhook: id, owner: owner ?? "" } : { action, webhook: id };
			audit?.record({ ...deed, by: null, ...(workspace === null ? {} : { workspace }) });
		},
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
		requiredSandbox: (workspace) => workspaces.get(workspace)?.sandbox ?? undefined,
		now: () => systemClock.now(),
		environment: (request, { id, mode, argv }, base = inheritedFrom(process.env)) => {
			const hooks = mode === "pty" ? hookVariables({ program: hookProgram, socket: state.hookSocket }, id, argv) : {};
			return childEnvironment(process.env, request, id, { ...base, ...hooks });
		},
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
		adopted: adopted.filter(({ state }) => state.status === "running").length,
	};
}
