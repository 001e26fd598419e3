/** A Codex front alone, without Hawser's API: on an address, or for the one client of a pipe. */

import { type WebSocketAuth, webSocketAuthorize } from "../../access/codex-websocket-auth.ts";
import { allowAnyone } from "../../access/fixed-access.ts";
import { systemClock } from "../../backends/system-clock.ts";
import { answerUnknown } from "../../fronts/json-rpc/front.ts";
import type { Stdio } from "../../fronts/json-rpc/stdio.ts";
import type { Front, ServerContext } from "../../http/front.ts";
import { type ListenOptions, listen } from "../../http/listen.ts";

export type RunningCodexServer = {
	/** `ws://` or `unix://` URL of the server. */
	readonly url: string;
	/** Closes all connections and ends all programs. */
	close(): Promise<void>;
};

type CodexServerOptions = Pick<ListenOptions, "host" | "port" | "socketPath"> & {
	/** How clients authenticate; if absent, every client is accepted. */
	readonly auth: WebSocketAuth | undefined;
	readonly front: Front;
	/** Ends all programs. Idempotent. */
	readonly end: () => Promise<void>;
	readonly report: ServerContext["report"];
};

export async function listenForCodex({
	auth,
	front,
	end,
	...options
}: CodexServerOptions): Promise<RunningCodexServer> {
	const listener = await listen({
		...options,
		isOpen: "to all without origin",
		authorize: auth ? webSocketAuthorize(auth, systemClock) : allowAnyone,
		fronts: [front],
		answerUnknown,
	});
	return {
		url: listener.url.replace(/^http/, "ws"),
		close: async () => {
			await listener.close();
			await end();
		},
	};
}

type StdioServer = { serveStdio(stdio: Stdio): Promise<void> };

/** Serves the client of a pipe until it disconnects or the signal aborts. */
export async function serveCodexOnStdio(
	stdio: Stdio,
	signal: AbortSignal,
	open: () => Promise<{ readonly server: StdioServer; readonly end: () => Promise<void> }>,
): Promise<void> {
	signal.addEventListener("abort", () => stdio.input.destroy(), { once: true });
	const { server, end } = await open();
	await server.serveStdio(stdio);
	await end();
}
