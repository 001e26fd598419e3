/** The WebSocket of Codex `app-server`; `docs/compat/codex-app-server.md` says what it promises. */

import type { Front } from "../front.ts";
import { createRpcFront } from "../json-rpc/front.ts";
import { AppServer, type AppServerOptions } from "./app-server.ts";

export type CodexAppOptions = Omit<AppServerOptions, "report"> & {
	/** Where it is served. Everywhere, it is all there is, and answers as the real server does. */
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
