/** The shells that run the commands of conversations: started on first use, and ended when unused for long. */

import { limits } from "../../api/messages.ts";
import { valueWithin } from "../../core/async/deadline.ts";
import { SessionError } from "../../core/errors.ts";
import { isEnded } from "../../core/log/session-state.ts";
import type { Principal } from "../../core/policy/access.ts";
import { checkStartRate } from "../../core/policy/start-rate.ts";
import type { Session } from "../../core/session/session.ts";
import { programState } from "../../services/attention/program-state.ts";
import type { StartRequest } from "../../services/starts/request.ts";
import { isPrintable } from "../../words/printable.ts";
import type { Call } from "./call.ts";

/** Name of the operator's default shell, shared by all conversations. For other tokens the token's id is appended. */
const DEFAULT_NAME = "agent";
/**
 * Ends a shell of an abandoned conversation: no command for a day, and none running.
 * @limit a shell made for an agent, without output, input and jobs | it is ended
 */
const IDLE_MS = 24 * 60 * 60 * 1000;
/** Wide enough for most lines, and for an occasional screen. */
const SIZE = { cols: 120, rows: 40 };
/** Agents can't page. */
const NO_PAGERS = { PAGER: "cat", GIT_PAGER: "cat" };

type Shell = {
	readonly session: Session;
	/** The ended session that had this name before. */
	readonly replaces: Session | undefined;
};

/**
 * Finds the running shell of this name or conversation, or starts one. Concurrent calls share one start, so that each
 * gets the same shell.
 */
export async function findOrStartShell(name: string | undefined, cwd: string | undefined, call: Call): Promise<Shell> {
	const { environment, options, shellStarts } = call;
	const wanted = name ?? environment.shell ?? defaultName(call.principal);
	// Shared only between calls of one caller, because a start may wait for an approval.
	const key = `${call.principal.id} ${call.workspace} ${wanted}`;
	for (let isRepeated = false; ; isRepeated = true) {
		for (let starting = shellStarts.get(key); starting; starting = shellStarts.get(key)) {
			// The error goes to the call that made the start; other calls try a start of their own.
			await valueWithin(
				starting.catch(() => {}),
				{ signal: call.signal },
			);
			call.signal.throwIfAborted();
		}
		const found = call.lookUp(wanted);
		if (found && !isEnded(found.state)) {
			const running = call.find(wanted, "operate");
			if (cwd !== undefined) await checkIsIn(running, cwd, call);
			return { session: running, replaces: undefined };
		}
		if (found?.id === wanted) {
			throw new SessionError("session_closed", "the session with this id has ended", {
				hint: "a name gets a new shell",
			});
		}
		try {
			const starting = startShell(wanted, cwd, call).finally(() => shellStarts.delete(key));
			shellStarts.set(key, starting);
			return { session: await starting, replaces: found };
		} catch (error) {
			// Another caller started a session of this name meanwhile. This caller may be allowed to use it.
			if (isRepeated || SessionError.from(error).code !== "session_exists") throw error;
			await options.sessions.settled(({ workspace, name }) => workspace === call.workspace && name === wanted);
		}
	}
}

function startShell(name: string, cwd: string | undefined, call: Call): Promise<Session> {
	const { environment, options } = call;
	return start(
		{
			argv: [environment.env?.SHELL || options.shell],
			name,
			cwd,
			env: NO_PAGERS,
			idleTimeoutMs: IDLE_MS,
			idleExemptJobs: true,
		},
		call,
	);
}

/** `cwd` applies to a new shell only; a running one must already be there. */
async function checkIsIn(shell: Session, cwd: string, { signal }: Call): Promise<void> {
	const { cwd: now } = await programState(shell, signal);
	if (now === cwd) return;
	const where = now === null ? "" : `, in ${now}`;
	throw new SessionError("invalid_argument", `cwd: nothing was run; this shell is already running${where}`, {
		hint: "use cd in the command, or a new session name",
	});
}

function defaultName({ isAdmin, id }: Principal): string {
	return isAdmin ? DEFAULT_NAME : `${DEFAULT_NAME}-${id}`.slice(0, limits.nameLength);
}

/** Starts a program in the conversation's environment. */
export async function start(request: StartRequest, call: Call): Promise<Session> {
	const { options, environment, workspace, witness } = call;
	call.checkMayStart();
	checkRequest(request);
	checkStartRate(call.principal.countCreation());
	const session = await witness.create(
		options.sessions,
		options.prepare({
			base: environment.env,
			size: SIZE,
			answersQueries: true,
			shellHooks: true,
			workspace,
			...request,
			cwd: request.cwd ?? environment.cwd,
		}),
	);
	return witness.session(session);
}

/** Refuses values that the kernel or lists of sessions can't represent. */
function checkRequest({ argv, cwd, env = {}, name = "" }: StartRequest): void {
	if (argv[0] === "") throw new SessionError("invalid_argument", "argv.0: must name a program");
	if (cwd !== undefined && !cwd.startsWith("/")) throw new SessionError("invalid_argument", "cwd: must begin with /");
	if (!isPrintable(name)) {
		throw new SessionError("invalid_argument", "name: must be free of control characters");
	}
	if (Object.keys(env).some((variable) => !/^[^=\u0000]+$/.test(variable))) {
		throw new SessionError("invalid_argument", "env: a variable name must not be empty or contain =");
	}
	const texts = [...argv, cwd ?? "", ...Object.values(env)];
	if (texts.some((text) => text?.includes("\u0000"))) {
		throw new SessionError("invalid_argument", "arguments, directory and variables must not contain NUL");
	}
}
