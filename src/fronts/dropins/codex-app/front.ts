/** The WebSocket of Codex `app-server`; `docs/compat/codex-app-server.md` says what it promises. */

import type { Front } from "../../../http/front.ts";
import { createRpcFront } from "../../json-rpc/front.ts";
import { AppServer, type AppServerOptions } from "./server.ts";

export type CodexAppOptions = Omit<AppServerOptions, "report"> & {
	/** Path of the socket. With `*` it is the only front and answers like Codex's server. */
	readonly path: "*" | "/codex/app-server";
};

export function createCodexAppFront({ path, ...options }: CodexAppOptions): Front {
	return createRpcFront({
		name: "codex-app",
		path,
		frames: "text",
		...(path === "*" ? { healthPaths: ["/readyz", "/healthz"] } : {}),
		open: (report) => {
			const server = new AppServer({ ...options, report });
			return {
				limits: server.limits,
				connect: (wire, { principal, witness }) => server.connect(wire, principal, witness),
			};
		},
	});
}
