/** `hawser app-server`: the Codex front for commands alone, by the rules of the server it stands in for. Nothing is kept on disk. */

import { once } from "node:events";
import { chmod, lstat, stat, unlink } from "node:fs/promises";
import { connect } from "node:net";
import { dirname } from "node:path";
import { anybody } from "../access/fixed.ts";
import { type WebSocketAuth, webSocketAuthorize } from "../access/websocket-auth.ts";
import { systemClock } from "../backends/clock.ts";
import { SessionError } from "../core/errors.ts";
import type { SandboxPolicy } from "../core/sandbox.ts";
import { AppServer } from "../fronts/codex-app/app-server.ts";
import { type CodexAppOptions, createCodexAppFront } from "../fronts/codex-app/front.ts";
import type { AppLimits } from "../fronts/codex-app/limits.ts";
import type { Hosting } from "../fronts/front.ts";
import { answerUnknown } from "../fronts/json-rpc/front.ts";
import type { Stdio } from "../fronts/json-rpc/stdio.ts";
import { codexHost } from "./codex-host.ts";
import { listen } from "./listen.ts";
import { openTransient } from "./transient.ts";

export type AppServerOptions = {
	/** What holds for a command whose client names no policy. */
	readonly policy: SandboxPolicy;
	/** Files of the server's own, which are not there for commands in a sandbox. */
	readonly hidden?: readonly string[];
	readonly limits?: Partial<AppLimits>;
	readonly report: Hosting["report"];
};

export type AppAddress =
	| { readonly kind: "tcp"; readonly host: string; readonly port: number; readonly auth?: WebSocketAuth | undefined }
	| { readonly kind: "unix"; readonly path: string };

type RunningAppServer = {
	/** `ws://` or `unix://`, and where to reach us. */
	readonly url: string;
	/** Closes every connection and ends every command. */
	close(): Promise<void>;
};

export async function startAppServer(address: AppAddress, options: AppServerOptions): Promise<RunningAppServer> {
	// Whoever reaches the socket may run programs outside of any sandbox.
	const hidden = [...(options.hidden ?? []), ...(address.kind === "unix" ? [address.path] : [])];
	const { parts, end } = await compose({ ...options, hidden });
	const auth = address.kind === "tcp" ? address.auth : undefined;
	if (address.kind === "unix") await freeSocket(address.path);
	const listener = await listen({
		...(address.kind === "tcp"
			? { host: address.host, port: address.port }
			: { host: "localhost", port: 0, socketPath: address.path }),
		isOpen: "to all without origin",
		authorize: auth ? webSocketAuthorize(auth, systemClock) : anybody,
		fronts: [createCodexAppFront({ ...parts, path: "*" })],
		answerUnknown,
		report: options.report,
	});
	// There is no token on a socket: who may open it may run programs.
	if (address.kind === "unix") await chmod(address.path, 0o600);
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
export async function serveAppOnStdio(stdio: Stdio, options: AppServerOptions, signal: AbortSignal): Promise<void> {
	signal.addEventListener("abort", () => stdio.input.destroy(), { once: true });
	const { parts, end } = await compose(options);
	const server = new AppServer({ ...parts, report: (problem) => options.report(problem, "codex-app") });
	await server.serveStdio(stdio);
	await end();
}

async function compose({ policy, hidden = [], limits = {}, report }: AppServerOptions): Promise<{
	readonly parts: Omit<CodexAppOptions, "path">;
	readonly end: () => Promise<void>;
}> {
	const { end, ...transient } = await openTransient(report, hidden);
	// As the real server is told to leave commands to another.
	const isExecutor = process.env.CODEX_EXEC_SERVER_URL !== "none";
	return { parts: { ...transient, policy, isExecutor, host: codexHost(), limits }, end };
}

/** Makes way for a socket: there is no other that nobody listens to any more. */
async function freeSocket(path: string): Promise<void> {
	const directory = await stat(dirname(path)).catch(() => undefined);
	// The kernel would speak of permissions.
	if (!directory?.isDirectory())
		throw new SessionError("invalid_argument", `there is no directory ${dirname(path)} to put a socket into`);
	const socket = connect(path);
	try {
		await once(socket, "connect");
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		// The kernel says so of a file that is no socket as well, and that is not ours to take away.
		if (code === "ECONNREFUSED" && (await lstat(path)).isSocket()) await unlink(path);
		return;
	} finally {
		socket.destroy();
	}
	throw new SessionError("session_exists", `somebody else listens on ${path}`);
}
