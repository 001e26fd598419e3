/** `hawser exec-server`: the Codex front alone, with the rules of Codex's server. Stores nothing on disk. */

import { randomUUID } from "node:crypto";
import { type WebSocketAuth, webSocketAuthorize } from "../../access/codex-websocket-auth.ts";
import { allowAnyone } from "../../access/fixed-access.ts";
import { systemClock } from "../../backends/system-clock.ts";
import { type CodexExecOptions, createCodexExecFront } from "../../fronts/dropins/codex-exec/front.ts";
import type { ExecLimits } from "../../fronts/dropins/codex-exec/limits.ts";
import { ExecServer } from "../../fronts/dropins/codex-exec/server.ts";
import { answerUnknown } from "../../fronts/json-rpc/front.ts";
import type { Stdio } from "../../fronts/json-rpc/stdio.ts";
import type { ServerContext } from "../../http/front.ts";
import { listen } from "../../http/listen.ts";
import { openTransientEngine } from "../transient-engine.ts";
import { version } from "../version.ts";

export type ExecAddress = {
	readonly host: string;
	readonly port: number;
	/** How clients authenticate; if absent, every client is accepted. */
	readonly auth?: WebSocketAuth | undefined;
};

export type ExecServerOptions = {
	/** Requests of one connection that run at the same time. */
	readonly concurrency: number;
	/** The server's own files, hidden from sandboxed programs. */
	readonly hidden?: readonly string[];
	readonly limits?: Partial<ExecLimits>;
	/** Path of the worker for sandboxed file requests; the built-in one if absent. */
	readonly fileWorker?: string;
	readonly report: ServerContext["report"];
};

type RunningExecServer = {
	/** `ws://` URL of the server. */
	readonly url: string;
	/** Closes all connections and ends all processes. */
	close(): Promise<void>;
};

export async function startExecServer(
	{ host, port, auth }: ExecAddress,
	options: ExecServerOptions,
): Promise<RunningExecServer> {
	const { parts, end } = await compose(options);
	const listener = await listen({
		host,
		port,
		isOpen: "to all without origin",
		authorize: auth ? webSocketAuthorize(auth, systemClock) : allowAnyone,
		fronts: [createCodexExecFront({ ...parts, path: "/" })],
		answerUnknown,
		report: options.report,
	});
	return {
		url: listener.url.replace(/^http/, "ws"),
		// Idempotent: both calls below are.
		close: async () => {
			await listener.close();
			await end();
		},
	};
}

/** Serves the one client of a pipe until it disconnects or the signal aborts. */
export async function serveExecOnStdio(stdio: Stdio, options: ExecServerOptions, signal: AbortSignal): Promise<void> {
	signal.addEventListener("abort", () => stdio.input.destroy(), { once: true });
	const { parts, end } = await compose(options);
	const server = new ExecServer({ ...parts, report: (problem) => options.report(problem, "codex-exec") });
	await server.serveStdio(stdio);
	await end();
}

async function compose({ concurrency, hidden, limits = {}, fileWorker, report }: ExecServerOptions): Promise<{
	readonly parts: Omit<CodexExecOptions, "path">;
	readonly end: () => Promise<void>;
}> {
	const { end, ...transient } = await openTransientEngine(report, hidden);
	const worker = fileWorker === undefined ? {} : { fileWorker };
	return { parts: { ...transient, newUuid: randomUUID, version, concurrency, limits, ...worker }, end };
}
