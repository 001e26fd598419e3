/** `hawser exec-server`: the Codex front alone, by the rules of the server it stands in for. Nothing is kept on disk. */

import { randomUUID } from "node:crypto";
import { anybody } from "../access/fixed.ts";
import { type WebSocketAuth, webSocketAuthorize } from "../access/websocket-auth.ts";
import { systemClock } from "../backends/clock.ts";
import { ExecServer } from "../fronts/codex-exec/exec-server.ts";
import { type CodexExecOptions, createCodexExecFront } from "../fronts/codex-exec/front.ts";
import type { ExecLimits } from "../fronts/codex-exec/limits.ts";
import type { Hosting } from "../fronts/front.ts";
import { answerUnknown } from "../fronts/json-rpc/front.ts";
import type { Stdio } from "../fronts/json-rpc/stdio.ts";
import { listen } from "./listen.ts";
import { openTransient } from "./transient.ts";
import { version } from "./version.ts";

export type ExecAddress = {
	readonly host: string;
	readonly port: number;
	/** How clients show who they are; whoever reaches us may come in, if left out. */
	readonly auth?: WebSocketAuth | undefined;
};

export type ExecServerOptions = {
	/** How many requests of one connection may be under way at once. */
	readonly concurrency: number;
	/** Files of the server's own, which are not there for programs in a sandbox. */
	readonly hidden?: readonly string[];
	readonly limits?: Partial<ExecLimits>;
	readonly report: Hosting["report"];
};

type RunningExecServer = {
	/** `ws://` and where to reach us. */
	readonly url: string;
	/** Closes every connection and ends every process. */
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
		authorize: auth ? webSocketAuthorize(auth, systemClock) : anybody,
		fronts: [createCodexExecFront({ ...parts, path: "/" })],
		answerUnknown,
		report: options.report,
	});
	return {
		url: listener.url.replace(/^http/, "ws"),
		// Both may be asked for more than once, and each time wait for the same end.
		close: async () => {
			await listener.close();
			await end();
		},
	};
}

/** Serves the one client of a pipe until it is gone, or the signal says that it is over. */
export async function serveExecOnStdio(stdio: Stdio, options: ExecServerOptions, signal: AbortSignal): Promise<void> {
	signal.addEventListener("abort", () => stdio.input.destroy(), { once: true });
	const { parts, end } = await compose(options);
	const server = new ExecServer({ ...parts, report: (problem) => options.report(problem, "codex-exec") });
	await server.serveStdio(stdio);
	await end();
}

async function compose({ concurrency, hidden, limits = {}, report }: ExecServerOptions): Promise<{
	readonly parts: Omit<CodexExecOptions, "path">;
	readonly end: () => Promise<void>;
}> {
	const { end, ...transient } = await openTransient(report, hidden);
	return { parts: { ...transient, newUuid: randomUUID, version, concurrency, limits }, end };
}
