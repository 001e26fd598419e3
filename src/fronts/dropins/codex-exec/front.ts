/** The WebSocket of Codex `exec-server`; `docs/compat/codex-exec-server.md` says what it promises. */

import type { Front } from "../../../http/front.ts";
import { createRpcFront } from "../../json-rpc/front.ts";
import { ExecServer, type ExecServerOptions } from "./server.ts";

export type CodexExecOptions = Omit<ExecServerOptions, "report"> & {
	/** Path of the socket. At the root it is the only front and answers like Codex's server. */
	readonly path: "/" | "/codex/exec-server";
};

export function createCodexExecFront({ path, ...options }: CodexExecOptions): Front {
	return createRpcFront({
		name: "codex-exec",
		path,
		frames: "all",
		...(path === "/" ? { healthPaths: ["/readyz"] } : {}),
		open: (report) => {
			const server = new ExecServer({ ...options, report });
			return {
				limits: server.limits,
				connect: (wire, { principal, witness, address }) => {
					const source = `websocket JSON-RPC message from exec-server websocket ${address}`;
					// The session outlives its connection, so that the client can reconnect.
					return server.connect(wire, { principal, witness: witness.lasting(), source });
				},
			};
		},
	});
}
