/** Multica's task terminals: one socket per issue, and one socket for many; see `docs/compat/multica.md`. */

import type { FastifyInstance } from "fastify";
import { bearer } from "../../../http/caller.ts";
import type { Front, ServerContext } from "../../../http/front.ts";
import { answerErrors } from "./answers.ts";
import { addIssueSocket } from "./issue-socket.ts";
import { defaultTimes } from "./limits.ts";
import type { MulticaOptions } from "./options.ts";
import { addTerminalSocket } from "./terminal-socket.ts";
import { Terminals } from "./terminals.ts";

export function createMulticaFront(options: MulticaOptions): Front {
	return {
		name: "multica",
		credential: bearer,
		register(app: FastifyInstance, hosting: ServerContext): void {
			answerErrors(app, hosting);
			const terminals = new Terminals(options, (problem) => hosting.report(problem, "multica"));
			const context = { options, times: { ...defaultTimes, ...options.times }, terminals, hosting };
			addIssueSocket(app, context);
			addTerminalSocket(app, context);
			app.addHook("onClose", () => terminals.close());
		},
	};
}
