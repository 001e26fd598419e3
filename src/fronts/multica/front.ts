/** Multica's task terminals, by the socket of an issue and by one for many; `docs/compat/multica.md` says what they promise. */

import type { FastifyInstance } from "fastify";
import { bearer, type Front, type Hosting } from "../front.ts";
import { answerErrors } from "./answers.ts";
import { addIssueSocket } from "./issue-socket.ts";
import type { MulticaOptions } from "./options.ts";
import { addTerminalSocket } from "./terminal-socket.ts";
import { Terminals } from "./terminals.ts";

export function createMulticaFront(options: MulticaOptions): Front {
	return {
		name: "multica",
		credential: bearer,
		register(app: FastifyInstance, hosting: Hosting): void {
			answerErrors(app, hosting);
			const terminals = new Terminals(options, (problem) => hosting.report(problem, "multica"));
			addIssueSocket(app, options, terminals, hosting);
			addTerminalSocket(app, options, terminals, hosting);
			app.addHook("onClose", () => terminals.close());
		},
	};
}
