/** The shells in which conversations run commands: made when they are first named, and there for as long as they are used. */

import type { Session } from "../../core/session.ts";
import { isEnded } from "../../core/state.ts";
import { checkCreation, type StartRequest } from "../front.ts";
import type { Call } from "./call.ts";

/** The shell of all conversations of which nobody says more. */
const DEFAULT_NAME = "agent";
/** A shell of a conversation that nobody came back to: nothing was run there for a day, and nothing runs. */
const IDLE_MS = 24 * 60 * 60 * 1000;
/** Wide enough for most lines, and for a screen that is read now and then. */
const SIZE = { cols: 120, rows: 40 };
/** Nobody turns pages here. */
const NO_PAGERS = { PAGER: "cat", GIT_PAGER: "cat" };

/** The shell of this name, or of this conversation; a new one if it does not run. */
export async function shellOf(name: string | undefined, cwd: string | undefined, call: Call): Promise<Session> {
	const { surroundings, options } = call;
	const wanted = name ?? surroundings.shell ?? DEFAULT_NAME;
	const found = call.lookUp(wanted);
	if (found && !isEnded(found.state)) return call.find(wanted, "operate");
	return start(
		{
			argv: [surroundings.env?.SHELL || options.shell],
			name: wanted,
			cwd,
			env: NO_PAGERS,
			idleTimeoutMs: IDLE_MS,
			idleExemptJobs: true,
		},
		call,
	);
}

/** Starts a program where the conversation takes place. */
export async function start(request: StartRequest, call: Call): Promise<Session> {
	const { options, surroundings, workspace, witness } = call;
	call.checkMayStart();
	checkCreation(call.principal.countCreation());
	const session = await witness.create(
		options.sessions,
		options.prepare({
			base: surroundings.env,
			size: SIZE,
			answersQueries: true,
			workspace,
			...request,
			cwd: request.cwd ?? surroundings.cwd,
		}),
	);
	return witness.session(session);
}
