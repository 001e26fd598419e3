/** `hawser exec-server`: the Codex front alone, with the rules of Codex's server. Stores nothing on disk. */

import { randomUUID } from "node:crypto";
import type { WebSocketAuth } from "../../access/codex-websocket-auth.ts";
import { type CodexExecOptions, createCodexExecFront } from "../../fronts/dropins/codex-exec/front.ts";
import type { ExecLimits } from "../../fronts/dropins/codex-exec/limits.ts";
import { ExecServer } from "../../fronts/dropins/codex-exec/server.ts";
import type { Stdio } from "../../fronts/json-rpc/stdio.ts";
import type { ServerContext } from "../../http/front.ts";
import { openTransientEngine } from "../transient-engine.ts";
import { version } from "../version.ts";
import { listenForCodex, type RunningCodexServer, serveCodexOnStdio } from "./codex-server.ts";

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

export async function startExecServer(
	{ host, port, auth }: ExecAddress,
	options: ExecServerOptions,
): Promise<RunningCodexServer> {
	const { parts, end } = await compose(options);
	const front = createCodexExecFront({ ...parts, path: "/" });
	return listenForCodex({ host, port, auth, front, end, report: options.report });
}

/** Serves the one client of a pipe until it disconnects or the signal aborts. */
export function serveExecOnStdio(stdio: Stdio, options: ExecServerOptions, signal: AbortSignal): Promise<void> {
	return serveCodexOnStdio(stdio, signal, async () => {
		const { parts, end } = await compose(options);
		return { server: new ExecServer({ ...parts, report: (problem) => options.report(problem, "codex-exec") }), end };
	});
}

async function compose({ concurrency, hidden, limits = {}, fileWorker, report }: ExecServerOptions): Promise<{
	readonly parts: Omit<CodexExecOptions, "path">;
	readonly end: () => Promise<void>;
}> {
	const { end, ...transient } = await openTransientEngine(report, hidden);
	const worker = fileWorker === undefined ? {} : { fileWorker };
	return { parts: { ...transient, newUuid: randomUUID, version, concurrency, limits, ...worker }, end };
}
