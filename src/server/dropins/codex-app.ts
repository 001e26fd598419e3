/**
 * `hawser app-server`: the Codex front for commands alone, with the rules of Codex's server. Stores nothing on disk.
 */

import { once } from "node:events";
import { chmod, lstat, stat, unlink } from "node:fs/promises";
import { connect } from "node:net";
import { dirname } from "node:path";
import type { WebSocketAuth } from "../../access/codex-websocket-auth.ts";
import { SessionError } from "../../core/errors.ts";
import type { SandboxPolicy } from "../../core/process/sandbox-policy.ts";
import { type CodexAppOptions, createCodexAppFront } from "../../fronts/dropins/codex-app/front.ts";
import type { AppLimits } from "../../fronts/dropins/codex-app/limits.ts";
import { AppServer } from "../../fronts/dropins/codex-app/server.ts";
import type { Stdio } from "../../fronts/json-rpc/stdio.ts";
import type { ServerContext } from "../../http/front.ts";
import { openTransientEngine } from "../transient-engine.ts";
import { codexHost } from "./codex-host.ts";
import { listenForCodex, type RunningCodexServer, serveCodexOnStdio } from "./codex-server.ts";

export type AppServerOptions = {
	/** Policy of commands whose client names none. */
	readonly policy: SandboxPolicy;
	/** The server's own files, hidden from sandboxed commands. */
	readonly hidden?: readonly string[];
	readonly limits?: Partial<AppLimits>;
	readonly report: ServerContext["report"];
};

export type AppAddress =
	| { readonly kind: "tcp"; readonly host: string; readonly port: number; readonly auth?: WebSocketAuth | undefined }
	| { readonly kind: "unix"; readonly path: string };

export async function startAppServer(address: AppAddress, options: AppServerOptions): Promise<RunningCodexServer> {
	// The socket would let a sandboxed program run others without a sandbox.
	const hidden = [...(options.hidden ?? []), ...(address.kind === "unix" ? [address.path] : [])];
	const { parts, end } = await compose({ ...options, hidden });
	if (address.kind === "unix") await freeSocket(address.path);
	const server = await listenForCodex({
		...(address.kind === "tcp"
			? { host: address.host, port: address.port }
			: { host: "localhost", port: 0, socketPath: address.path }),
		auth: address.kind === "tcp" ? address.auth : undefined,
		front: createCodexAppFront({ ...parts, path: "*" }),
		end,
		report: options.report,
	});
	// The socket has no token, so only its owner may open it.
	if (address.kind === "unix") await chmod(address.path, 0o600);
	return server;
}

/** Serves the one client of a pipe until it disconnects or the signal aborts. */
export function serveAppOnStdio(stdio: Stdio, options: AppServerOptions, signal: AbortSignal): Promise<void> {
	return serveCodexOnStdio(stdio, signal, async () => {
		const { parts, end } = await compose(options);
		return { server: new AppServer({ ...parts, report: (problem) => options.report(problem, "codex-app") }), end };
	});
}

async function compose({ policy, hidden = [], limits = {}, report }: AppServerOptions): Promise<{
	readonly parts: Omit<CodexAppOptions, "path">;
	readonly end: () => Promise<void>;
}> {
	const { end, ...transient } = await openTransientEngine(report, hidden);
	// The same variable disables execution in Codex's server.
	const isExecutor = process.env.CODEX_EXEC_SERVER_URL !== "none";
	return { parts: { ...transient, policy, isExecutor, host: codexHost(), limits }, end };
}

/** Removes a socket that no server listens on. */
async function freeSocket(path: string): Promise<void> {
	const directory = await stat(dirname(path)).catch(() => undefined);
	// Without this, the error would be a misleading permission error.
	if (!directory?.isDirectory())
		throw new SessionError("invalid_argument", `cannot create the socket ${path}: no such directory`);
	const socket = connect(path);
	try {
		await once(socket, "connect");
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		// Also reported for regular files, which must not be removed.
		if (code === "ECONNREFUSED" && (await lstat(path)).isSocket()) await unlink(path);
		return;
	} finally {
		socket.destroy();
	}
	throw new SessionError("session_exists", `another process listens on ${path}`);
}
