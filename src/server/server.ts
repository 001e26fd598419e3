/** The composition root: connects the fronts to the engine and the ports. */

import { createHash, randomBytes, randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { FailedLogins } from "../access/failed-logins.ts";
import { allowAnyone, anybodyId } from "../access/fixed-access.ts";
import { inheritedFrom } from "../backends/environment.ts";
import { sessionsOfPeer } from "../backends/surrounding-sessions.ts";
import { systemClock } from "../backends/system-clock.ts";
import { SessionError } from "../core/errors.ts";
import { Approvals } from "../core/policy/approvals.ts";
import { noAudit } from "../core/policy/audit.ts";
import { GateChecks } from "../core/policy/gates.ts";
import type { Session } from "../core/session/session.ts";
import { JsonFile } from "../disk/json-file.ts";
import { LineHistory } from "../disk/line-history.ts";
import { createCodexAppFront } from "../fronts/dropins/codex-app/front.ts";
import { createCodexExecFront } from "../fronts/dropins/codex-exec/front.ts";
import { createMulticaFront } from "../fronts/dropins/multica/front.ts";
import { createOpenSandboxFront } from "../fronts/dropins/opensandbox/front.ts";
import type { OpenSandboxOptions } from "../fronts/dropins/opensandbox/options.ts";
import { createMcpFront } from "../fronts/mcp/front.ts";
import { createAccessFront } from "../fronts/native/access/front.ts";
import { signInPath } from "../fronts/native/access/signin.ts";
import { createNativeFront } from "../fronts/native/front.ts";
import { createWebFront } from "../fronts/web/front.ts";
import type { Front } from "../http/front.ts";
import { createBudgets } from "../http/limits/budgets.ts";
import { type Listener, type ListenOptions, listen, type Route } from "../http/listen.ts";
import { Agents } from "../services/agents/agents.ts";
import { HookReports } from "../services/agents/hook-reports.ts";
import { DialogPolicy } from "../services/agents/policy/dialog-policy.ts";
import { type AgentPolicy, readAgentPolicies } from "../services/agents/policy/policy-file.ts";
import { PromptQueue } from "../services/agents/prompt-queue.ts";
import { builtinRules } from "../services/agents/screen-rules/builtin/index.ts";
import type { AgentRules } from "../services/agents/screen-rules/format.ts";
import { readRuleFiles } from "../services/agents/screen-rules/rule-files.ts";
import { Attachments } from "../services/attachments/attachments.ts";
import { FeedLog } from "../services/feed/feed-log.ts";
import { GateJudge } from "../services/gates/judge.ts";
import { loginShell } from "../services/host/shells.ts";
import { SecretRequests, type SecretSources } from "../services/secrets/requests.ts";
import { SourceAnswers } from "../services/secrets/source-answers.ts";
import { filesOf, readSecretSources, type SecretSource } from "../services/secrets/source-file.ts";
import { type Config, ConfigError, readTls } from "./config.ts";
import { codexHost } from "./dropins/codex-host.ts";
import { type Engine, type EngineOptions, openEngine } from "./engine.ts";
import { openHookSocket } from "./hook-socket.ts";
import { openLocalSocket } from "./local-socket.ts";
import { auditMetrics, keeperMetrics, webhookMetrics } from "./metrics.ts";
import { version } from "./version.ts";

/** The same path from sources and from compiled files. */
const WEB_DIRECTORY = fileURLToPath(new URL("../../dist/web", import.meta.url));

/**
 * The event feed on disk: room for all events that the feed keeps, most of which are below 500 bytes.
 * @limit the event feed on disk | %, or four times what is known of all sessions if that is more | the oldest file is
 * dropped; an older cursor gets a gap
 */
const FEED_BYTES = 8 * 1024 ** 2;

export type ServerOptions = Omit<EngineOptions, "isSecure" | "hidden"> & {
	/** Called for every route, so that a test can try them all. */
	readonly onRoute?: (route: Route) => void;
	readonly dropIn?: DropIn;
};

/** A second port for one front, with the rules of the original server. */
export type DropIn = (
	parts: FrontParts,
) => Pick<
	ListenOptions,
	"host" | "port" | "fronts" | "authorize" | "isOpen" | "answerUnknown" | "maxHeadBytes" | "hasLongBodies"
>;

/** Options for drop-in fronts. */
export type FrontParts = { readonly openSandbox: OpenSandboxOptions };

export type Server = {
	readonly url: string;
	/** URL of the drop-in. */
	readonly dropInUrl: string | undefined;
	readonly adminToken: string;
	/** A link that signs in one browser, once and within five minutes; undefined without authentication. */
	readonly signInUrl: string | undefined;
	/** Number of running sessions taken over from a previous server. */
	readonly adopted: number;
	/** Stops serving. Durable sessions continue; sessions in this process are ended. Idempotent. */
	close(): Promise<void>;
};

export async function startServer(config: Config, options: ServerOptions): Promise<Server> {
	const opened: (() => Promise<unknown>)[] = [];
	const onClose = (close: () => Promise<unknown>) => void opened.unshift(close);
	let closed: Promise<void> | undefined;
	const close = () => {
		closed ??= closeAll(opened, options.report);
		return closed;
	};
	try {
		const tls = config.tls ? readTls(config.tls) : undefined;
		const { secretSources } = config;
		const sources = secretSources === null ? [] : await secretSourcesOf(secretSources);
		const rules = await agentRulesOf(config.agentRules);
		const policies = config.agentPolicy === null ? [] : await agentPoliciesOf(config.agentPolicy);
		const hidden = secretSources === null ? [] : [secretSources, ...filesOf(sources)];
		const isSecure = tls !== undefined || config.behindProxy;
		const engine = await openEngine(config, { ...options, isSecure, hidden }, onClose);
		const { access, adminToken, adopted, state } = engine;
		const feedLog = await openFeedLog(state.path, (problem) => options.report(problem, "feed"));
		onClose(() => feedLog.close());
		const parts = frontParts(config, engine);
		const { maxAttachments, maxConnections } = config;
		const { judge, approvals, gatekeeper } = createGates(engine.sessions.list());
		onClose(async () => judge.close());
		const { audit = noAudit } = engine;
		const common = {
			budgets: createBudgets(maxAttachments),
			maxConnections,
			audit,
			gatekeeper,
			report: options.report,
		};
		const failures = new FailedLogins(systemClock);
		const sourceAnswers = new SourceAnswers({
			sources,
			judge: judge.judge,
			clock: systemClock,
			audit,
			report: (problem) => options.report(problem, "secret sources"),
		});
		const attachments = new Attachments();
		const agents = new Agents({
			sessions: engine.sessions,
			attachments,
			screens: engine.screens,
			rules,
			now: () => systemClock.now(),
			report: (problem) => options.report(problem, "agents"),
		});
		// Only called after listen().
		const home = () => publicUrl(config, listener);
		const listener: Listener = await listen({
			...common,
			host: config.host,
			port: config.port,
			fronts: createFronts(
				config,
				{ engine, feedLog, approvals, secretSources: sourceAnswers, attachments, agents, report: options.report, home },
				options.dropIn ? undefined : parts.openSandbox,
			),
			allowedHosts: config.allowedHosts,
			allowedOrigins: config.allowedOrigins,
			tls,
			behindProxy: config.behindProxy,
			authorize: config.auth ? (caller) => access.authorize(caller) : allowAnyone,
			noteFailure: (address) => failures.note(address),
			...(options.onRoute ? { onRoute: options.onRoute } : {}),
		});
		onClose(() => listener.close());
		const dialogPolicy = new DialogPolicy({
			policies,
			sessions: engine.sessions,
			agents,
			approvals,
			judge: judge.judge,
			audit,
			report: (problem) => options.report(problem, "agent policy"),
		});
		// Runs before the listener closes, which waits for all answers.
		onClose(async () => dialogPolicy.close());
		onClose(async () => approvals.close());
		onClose(async () => sourceAnswers.close());
		const accept: Listener["accept"] = (connection) => listener.accept(connection);
		const local = await state.withReserve(() => openLocalSocket(state.socket, accept));
		onClose(() => local.close());
		const hooks = new HookReports({ sessions: engine.sessions, rules });
		const hookSocket = await state.withReserve(() =>
			openHookSocket({
				path: state.hookSocket,
				take: (line, from) => hooks.take(line, from),
				report: (problem) => options.report(problem, "hooks"),
			}),
		);
		onClose(() => hookSocket.close());
		const dropIn = options.dropIn && (await listen({ ...common, ...options.dropIn(parts) }));
		if (dropIn) onClose(() => dropIn.close());
		await state.announce(ownUrl(config, listener), dropIn?.url);
		engine.keepers.serve();
		const signInUrl = () => {
			const { code } = access.createSignInCode(access.admin);
			return `${home()}${config.basePath}${signInPath(code)}`;
		};
		return {
			url: ownUrl(config, listener),
			dropInUrl: dropIn?.url,
			adminToken,
			signInUrl: config.auth ? signInUrl() : undefined,
			adopted,
			close,
		};
	} catch (error) {
		await close();
		throw error;
	}
}

type FrontSupport = {
	readonly engine: Engine;
	readonly feedLog: FeedLog;
	readonly approvals: Approvals;
	readonly secretSources: SecretSources;
	readonly attachments: Attachments;
	readonly agents: Agents;
	readonly report: ServerOptions["report"];
	readonly home: () => string;
};

/** `openSandbox` is undefined if that front has its own port. */
function createFronts(
	config: Config,
	{ engine, feedLog, approvals, secretSources, attachments, agents, report, home }: FrontSupport,
	openSandbox: OpenSandboxOptions | undefined,
): Front[] {
	const { sessions, screens, workspaces, webhooks, prepare, sandbox, access, keepers, audit, state } = engine;
	const metrics = async () => [
		...(await keeperMetrics(keepers)),
		...(audit ? auditMetrics(audit.status) : []),
		...webhookMetrics(webhooks.figures),
	];
	const hasPublicName = config.allowedHosts.length > 0;
	const secretRequests = new SecretRequests({
		sessions,
		clock: systemClock,
		audit: audit ?? noAudit,
		sources: secretSources,
	});
	const prompts = new PromptQueue({
		sessions,
		agents,
		directory: state.prompts,
		audit: audit ?? noAudit,
		now: () => systemClock.now(),
		isRevoked: (owner) => owner !== anybodyId && access.revocationOf(owner)?.aborted !== false,
		report: (problem) => report(problem, "prompts"),
	});
	return [
		createNativeFront({
			sessions,
			screens,
			attachments,
			agents,
			prompts,
			workspaces,
			webhooks,
			pageOf: (id) => (hasPublicName ? `${home()}${config.basePath}/s/${id}` : undefined),
			secretRequests,
			access,
			approvals,
			sessionsOfPeer,
			prepare,
			clock: systemClock,
			sandbox,
			audit,
			feedLog,
			metrics,
			version,
			name: hostname(),
			limits: {
				sessions: config.maxSessions,
				workspaceSessions: config.maxWorkspaceSessions,
				journalBytes: config.maxDiskBytes,
				startsPerSecond: config.createRate,
				retain: config.retention,
			},
		}),
		createAccessFront({ access, sessions, basePath: config.basePath, publicUrl: home }),
		...(openSandbox ? [createOpenSandboxFront(openSandbox)] : []),
		createCodexExecFront({
			sessions,
			prepare,
			workspaces,
			environment: () => inheritedFrom(process.env),
			cwd: config.cwd,
			newUuid: randomUUID,
			version,
			path: "/codex/exec-server",
		}),
		createCodexAppFront({
			sessions,
			prepare,
			sandbox,
			// Callers with the right to manage may run anything through the other fronts too.
			policy: { type: "dangerFullAccess" },
			environment: () => inheritedFrom(process.env),
			cwd: config.cwd,
			host: codexHost(),
			path: "/codex/app-server",
		}),
		createMulticaFront({
			sessions,
			prepare,
			workspaces,
			clock: systemClock,
			newUuid: randomUUID,
			graceMs: config.multicaGraceMs,
			idleMs: config.multicaIdleMs,
		}),
		createMcpFront({
			sessions,
			screens,
			agents,
			prepare,
			secretRequests,
			secretUrl: (request) => `${home()}${config.basePath}/secret/${request}`,
			newUuid: randomUUID,
			shell: loginShell(),
			version,
		}),
		createWebFront({ directory: WEB_DIRECTORY }),
	];
}

/** Reports an invalid file as an invalid setting. */
async function agentRulesOf(directory: string): Promise<readonly AgentRules[]> {
	try {
		return await readRuleFiles(directory, builtinRules);
	} catch (error) {
		if (error instanceof SessionError) throw new ConfigError("--agent-rules", error.message);
		throw error;
	}
}

async function agentPoliciesOf(path: string): Promise<readonly AgentPolicy[]> {
	try {
		return await readAgentPolicies(path);
	} catch (error) {
		if (error instanceof SessionError) throw new ConfigError("--agent-policy", error.message);
		throw error;
	}
}

async function secretSourcesOf(path: string): Promise<readonly SecretSource[]> {
	try {
		return await readSecretSources(path);
	} catch (error) {
		if (error instanceof SessionError) throw new ConfigError("--secret-sources", error.message);
		throw error;
	}
}

async function openFeedLog(stateDir: string, report: (problem: unknown) => void): Promise<FeedLog> {
	const directory = join(stateDir, "events");
	const history = await LineHistory.open({ directory, name: "events", maxBytes: FEED_BYTES, report });
	return FeedLog.open({ history, report });
}

/** Held actions exist in this process only. `older` are the sessions started before it. */
function createGates(older: readonly Session[]): {
	readonly judge: GateJudge;
	readonly approvals: Approvals;
	readonly gatekeeper: GateChecks;
} {
	const judge = new GateJudge();
	const approvals = new Approvals({ clock: systemClock, newId: () => `a_${randomBytes(6).toString("hex")}` });
	const digest = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
	const known = new WeakSet(older);
	const isOlder = (session: Session) => known.has(session);
	const options = { approvals, judge: judge.judge, digest, clock: systemClock, isOlder };
	return { judge, approvals, gatekeeper: new GateChecks(options) };
}

function frontParts(config: Config, { sessions, prepare, workspaces, state }: Engine): FrontParts {
	return {
		openSandbox: {
			path: "/opensandbox",
			sessions,
			prepare,
			workspaces,
			environment: () => inheritedFrom(process.env),
			cwd: config.cwd,
			spoolDirectory: join(state.path, "opensandbox-uploads"),
			records: new JsonFile(join(state.path, "opensandbox.json"), state.write),
			clock: systemClock,
			newUuid: randomUUID,
		},
	};
}

/** Closes everything in order, even if some of it fails. */
async function closeAll(opened: readonly (() => Promise<unknown>)[], report: ServerOptions["report"]): Promise<void> {
	for (const close of opened) await close().catch((error: unknown) => report(error, "close"));
}

/** The server's URL for browsers: its first allowed host name, if there is one. */
function publicUrl({ allowedHosts: [name], behindProxy, host }: Config, { url, port }: Listener): string {
	const { protocol } = new URL(url);
	if (name === undefined) return isEveryAddress(host) ? `${protocol}//localhost:${port}` : url;
	return behindProxy ? `https://${name}` : `${protocol}//${name}:${port}`;
}

/** The server's URL for commands. */
function ownUrl(config: Config, listener: Listener): string {
	return isEveryAddress(config.host) ? publicUrl(config, listener) : listener.url;
}

/** Listens on all addresses; not usable as a destination. */
function isEveryAddress(host: string): boolean {
	return host === "0.0.0.0" || host === "::";
}
