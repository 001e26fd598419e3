/** The shells in which conversations run commands: made when they are first named, and there for as long as they are used. */

import type { Principal } from "../../core/access.ts";
import { SessionError } from "../../core/errors.ts";
import type { Session } from "../../core/session.ts";
import { isEnded } from "../../core/state.ts";
import { limits } from "../../protocol/messages.ts";
import { isPrintable } from "../../protocol/printable.ts";
import { checkCreation, type StartRequest } from "../front.ts";
import { programState } from "../program-state.ts";
import type { Call } from "./call.ts";

/** The shell of all conversations of the operator's of which nobody says more; those of others bear the token's id. */
const DEFAULT_NAME = "agent";
/** A shell of a conversation that nobody came back to: nothing was run there for a day, and nothing runs. */
const IDLE_MS = 24 * 60 * 60 * 1000;
/** Wide enough for most lines, and for a screen that is read now and then. */
const SIZE = { cols: 120, rows: 40 };
/** Nobody turns pages here. */
const NO_PAGERS = { PAGER: "cat", GIT_PAGER: "cat" };

export type Shell = {
	readonly session: Session;
	/** The one that has ended, and that was known by the same name before. */
	readonly replaces: Session | undefined;
};

/** The shell of this name, or of this conversation; a new one, in a directory, if it does not run. */
export async function shellOf(name: string | undefined, cwd: string | undefined, call: Call): Promise<Shell> {
	const { surroundings, options } = call;
	const wanted = name ?? surroundings.shell ?? defaultName(call.principal);
	const found = call.lookUp(wanted);
	if (found && !isEnded(found.state)) {
		const running = call.find(wanted, "operate");
		if (cwd !== undefined) await checkIsIn(running, cwd, call);
		return { session: running, replaces: undefined };
	}
	if (found?.id === wanted) {
		throw new SessionError("session_closed", "the session of this id has ended", { hint: "a name gets a new shell" });
	}
	const session = await start(
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
	return { session, replaces: found };
}

/** A shell stays where its commands have taken it. */
async function checkIsIn(shell: Session, cwd: string, { signal }: Call): Promise<void> {
	const { cwd: now } = await programState(shell, signal);
	if (now === cwd) return;
	const where = now === null ? "" : `, in ${now}`;
	throw new SessionError("invalid_argument", `cwd: nothing was run, for this shell is there already${where}`, {
		hint: "cd in the command, or name another session, which starts there",
	});
}

function defaultName({ isAdmin, id }: Principal): string {
	return isAdmin ? DEFAULT_NAME : `${DEFAULT_NAME}-${id}`.slice(0, limits.nameLength);
}

/** Starts a program where the conversation takes place. */
export async function start(request: StartRequest, call: Call): Promise<Session> {
	const { options, surroundings, workspace, witness } = call;
	call.checkMayStart();
	checkRequest(request);
	checkCreation(call.principal.countCreation());
	const session = await witness.create(
		options.sessions,
		options.prepare({
			base: surroundings.env,
			size: SIZE,
			answersQueries: true,
			shellHooks: true,
			workspace,
			...request,
			cwd: request.cwd ?? surroundings.cwd,
		}),
	);
	return witness.session(session);
}

/** What the kernel, or whoever reads a list of sessions, could not take. */
function checkRequest({ argv, cwd, env = {}, name = "" }: StartRequest): void {
	if (argv[0] === "") throw new SessionError("invalid_argument", "argv.0: must name a program");
	if (cwd !== undefined && !cwd.startsWith("/")) throw new SessionError("invalid_argument", "cwd: must begin with /");
	if (!isPrintable(name)) {
		throw new SessionError("invalid_argument", "name: must be free of control characters");
	}
	if (Object.keys(env).some((variable) => !/^[^=\u0000]+$/.test(variable))) {
		throw new SessionError("invalid_argument", "env: a variable's name is not empty, and has no = in it");
	}
	const texts = [...argv, cwd ?? "", ...Object.values(env)];
	if (texts.some((text) => text?.includes("\u0000"))) {
		throw new SessionError("invalid_argument", "no argument, directory or variable can have a NUL in it");
	}
}
