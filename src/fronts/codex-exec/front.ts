/** The WebSocket of Codex `exec-server`; `docs/compat/codex-exec-server.md` says what it promises. */

import type { Front } from "../front.ts";
import { createRpcFront } from "../json-rpc/front.ts";
import { ExecServer, type ExecServerOptions } from "./exec-server.ts";

export type CodexExecOptions = Omit<ExecServerOptions, "report"> & {
	/** Where it is served. At the root it is all there is, and answers as the real server does. */
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
					// Its processes outlive its connection, for a client that comes back.
					return server.connect(wire, { principal, witness: witness.lasting(), source });
				},
			};
		},
	});
}
