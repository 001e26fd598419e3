/** The composition root: which fronts stand on the engine, where they are served, and nothing else. */

import { createHash, randomBytes, randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { anybody } from "../access/fixed.ts";
import { Failures } from "../access/rate.ts";
import { systemClock } from "../backends/clock.ts";
import { inheritedFrom } from "../backends/environment.ts";
import { Approvals } from "../core/approvals.ts";
import { noAudit } from "../core/audit.ts";
import { Gatekeeper } from "../core/gatekeeper.ts";
import type { Session } from "../core/session.ts";
import { JsonFile } from "../disk/json-file.ts";
import { LineHistory } from "../disk/line-history.ts";
import { createCodexAppFront } from "../fronts/codex-app/front.ts";
import { createCodexExecFront } from "../fronts/codex-exec/front.ts";
import { loginShell } from "../fronts/find-shell.ts";
import type { Front } from "../fronts/front.ts";
import { createMcpFront } from "../fronts/mcp/front.ts";
import { createMulticaFront } from "../fronts/multica/front.ts";
import { createAccessFront } from "../fronts/native/access/front.ts";
import { signInPath } from "../fronts/native/access/signin.ts";
import { FeedLog } from "../fronts/native/feed-log.ts";
import { createNativeFront } from "../fronts/native/front.ts";
import { GateJudge } from "../fronts/native/search/gate-judge.ts";
import { createOpenSandboxFront } from "../fronts/opensandbox/front.ts";
import type { OpenSandboxOptions } from "../fronts/opensandbox/options.ts";
import { SecretRequests, type SecretSources } from "../fronts/secret-requests.ts";
import { createWebFront } from "../fronts/web/front.ts";
import { createBudgets } from "./budgets.ts";
import { codexHost } from "./codex-host.ts";
import { type Config, readTls } from "./config.ts";
import { type Engine, type EngineOptions, openEngine } from "./engine.ts";
import { type Listener, type ListenOptions, listen, type Route } from "./listen.ts";
import { openLocalSocket } from "./local-socket.ts";
import { auditMetrics, keeperMetrics, webhookMetrics } from "./metrics.ts";
import { filesOf, readSecretSources } from "./secret-sources.ts";
import { SourceAnswers } from "./source-answers.ts";
import { version } from "./version.ts";

/** The same from our sources and from what was made of them. */
const WEB_DIRECTORY = fileURLToPath(new URL("../../dist/web", import.meta.url));

/** What the events of all sessions take on disk: as many as the feed remembers, of which most have less than 500 bytes. */
const FEED_BYTES = 8 * 1024 ** 2;

export type ServerOptions = Omit<EngineOptions, "isSecure" | "hidden"> & {
	/** Hears of every route there is, so that a test can try them all. */
	readonly onRoute?: (route: Route) => void;
	readonly dropIn?: DropIn;
};

/** A second port, on which a front is served alone by the rules of the server that it stands in for. */
export type DropIn = (
	parts: FrontParts,
) => Pick<
	ListenOptions,
	"host" | "port" | "fronts" | "authorize" | "isOpen" | "answerUnknown" | "maxHeadBytes" | "hasLongBodies"
>;

/** What such fronts are made of. */
export type FrontParts = { readonly openSandbox: OpenSandboxOptions };

export type Server = {
	readonly url: string;
	/** Where the drop-in is served. */
	readonly dropInUrl: string | undefined;
	readonly adminToken: string;
	/** Signs in one browser, once and within five minutes; undefined when nobody has to. */
	readonly signInUrl: string | undefined;
	/** How many sessions were there before this server. */
	readonly adopted: number;
	/** Stops serving. Durable sessions go on; those that live in this process are ended. Idempotent. */
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
		const sources = secretSources === null ? [] : await readSecretSources(secretSources);
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
		const failures = new Failures(systemClock);
		const sourceAnswers = new SourceAnswers({
			sources,
			judge: judge.judge,
			clock: systemClock,
			audit,
			report: (problem) => options.report(problem, "secret sources"),
		});
		// Nobody asks before it listens.
		const home = () => publicUrl(config, listener);
		const listener: Listener = await listen({
			...common,
			host: config.host,
			port: config.port,
			fronts: createFronts(
				config,
				{ engine, feedLog, approvals, secretSources: sourceAnswers, home },
				options.dropIn ? undefined : parts.openSandbox,
			),
			allowedHosts: config.allowedHosts,
			allowedOrigins: config.allowedOrigins,
			tls,
			behindProxy: config.behindProxy,
			authorize: config.auth ? (caller) => access.authorize(caller) : anybody,
			noteFailure: (address) => failures.note(address),
			...(options.onRoute ? { onRoute: options.onRoute } : {}),
		});
		onClose(() => listener.close());
		// Before that, which waits for every answer.
		onClose(async () => approvals.close());
		onClose(async () => sourceAnswers.close());
		const local = await openLocalSocket(state.socket, (connection) => listener.accept(connection));
		onClose(() => local.close());
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
	readonly home: () => string;
};

/** `openSandbox` is left out where it has a port of its own. */
function createFronts(
	config: Config,
	{ engine, feedLog, approvals, secretSources, home }: FrontSupport,
	openSandbox: OpenSandboxOptions | undefined,
): Front[] {
	const { sessions, screens, workspaces, webhooks, prepare, sandbox, access, keepers, audit } = engine;
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
	return [
		createNativeFront({
			sessions,
			screens,
			workspaces,
			webhooks,
			pageOf: (id) => (hasPublicName ? `${home()}${config.basePath}/s/${id}` : undefined),
			secretRequests,
			access,
			approvals,
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
			// Whoever may manage here may run anything by every other front, too.
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

async function openFeedLog(stateDir: string, report: (problem: unknown) => void): Promise<FeedLog> {
	const directory = join(stateDir, "events");
	const history = await LineHistory.open({ directory, name: "events", maxBytes: FEED_BYTES, report });
	return FeedLog.open({ history, report });
}

/** What callers do not do alone is held in this process, and nowhere else. `older` is what was there before it. */
function createGates(older: readonly Session[]): {
	readonly judge: GateJudge;
	readonly approvals: Approvals;
	readonly gatekeeper: Gatekeeper;
} {
	const judge = new GateJudge();
	const approvals = new Approvals({ clock: systemClock, newId: () => `a_${randomBytes(6).toString("hex")}` });
	const digest = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
	const known = new WeakSet(older);
	const isOlder = (session: Session) => known.has(session);
	const options = { approvals, judge: judge.judge, digest, clock: systemClock, isOlder };
	return { judge, approvals, gatekeeper: new Gatekeeper(options) };
}

function frontParts(config: Config, { sessions, prepare, state }: Engine): FrontParts {
	return {
		openSandbox: {
			path: "/opensandbox",
			sessions,
			prepare,
			environment: () => inheritedFrom(process.env),
			cwd: config.cwd,
			spoolDirectory: join(state.path, "opensandbox-uploads"),
			records: new JsonFile(join(state.path, "opensandbox.json"), state.write),
			clock: systemClock,
			newUuid: randomUUID,
		},
	};
}

/** One after the other, each whatever became of those before: what can't be closed is no reason to leave the rest open. */
async function closeAll(opened: readonly (() => Promise<unknown>)[], report: ServerOptions["report"]): Promise<void> {
	for (const close of opened) await close().catch((error: unknown) => report(error, "close"));
}

/** Where a browser finds us: under the first name that we were given, if there is one. */
function publicUrl({ allowedHosts: [name], behindProxy, host }: Config, { url, port }: Listener): string {
	const { protocol } = new URL(url);
	if (name === undefined) return isEveryAddress(host) ? `${protocol}//localhost:${port}` : url;
	return behindProxy ? `https://${name}` : `${protocol}//${name}:${port}`;
}

/** Where commands find us. */
function ownUrl(config: Config, listener: Listener): string {
	return isEveryAddress(config.host) ? publicUrl(config, listener) : listener.url;
}

/** To listen on, but not to go to: it stands for every address of this machine, and is the address of none. */
function isEveryAddress(host: string): boolean {
	return host === "0.0.0.0" || host === "::";
}
