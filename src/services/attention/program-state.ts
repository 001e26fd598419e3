/** Describes a session's program: its state, and the question that it asks. */

import type { FeedEvent, ProgramState } from "../../api/types.ts";
import { type Inspection, isWaitingForInput } from "../../core/inspect/inspection.ts";
import type { Session } from "../../core/session/session.ts";
import type { Agents } from "../agents/agents.ts";
import { readLastLine } from "../reading/text.ts";

/** If the kernel gives no answer, a program counts as waiting when it was quiet for this long after a likely prompt. */
const GUESS_QUIET_MS = 1_000;

/** How prompts end, ignoring blanks, and other texts that programs print before they wait. */
const LIKE_A_PROMPT =
	/[:?>$#%❯][\s]*$|[[(](y(es)?\/n(o)?|yes\/no[^\])]*)[\])][\s:?]*$|password|passphrase|\bpin\b|press .*\bkey|\(END\)$|--More--/i;

/** With `agents`, the state includes the session's agent. */
export async function programState(session: Session, signal: AbortSignal, agents?: Agents): Promise<ProgramState> {
	const [state, agent] = await Promise.all([
		session.inspect().then((inspection) => describeProgram(session, inspection, signal)),
		agents?.read(session),
	]);
	return agent === undefined ? state : { ...state, agent };
}

/** Resolves once the program waits for input in a later episode than `after`, or has ended. */
export async function untilProgramWaits(
	session: Session,
	after: number,
	signal: AbortSignal,
): Promise<{ readonly state: ProgramState; readonly episode: number; readonly isWaiting: boolean }> {
	const found = await session.untilWaiting(after, signal);
	return {
		state: await describeProgram(session, found, signal),
		episode: found.episode,
		isWaiting: isWaitingForInput(found),
	};
}

/** Fields of an event for a program that waits. `ready` is a shell that waits for a command. */
type WaitEvent = Pick<FeedEvent, "kind" | "program"> & {
	readonly type: "waiting" | "ready";
	readonly offset: number;
	readonly prompt: string;
};

export function waitMessage({ state, kind, offset, lastLine: prompt, program }: ProgramState): WaitEvent {
	const what = { offset, prompt, ...(program === null ? {} : { program }) };
	return state === "prompt" ? { type: "ready", ...what } : { type: "waiting", ...what, kind: kind ?? state };
}

export async function describeProgram(
	session: Session,
	inspection: Inspection,
	signal: AbortSignal,
): Promise<ProgramState> {
	const { program, pid, cwd, processes, offset, episode, since } = inspection;
	const lastLine = await readLastLine(session, offset, session.state.size.rows, { signal });
	const counted = processes === undefined ? {} : { processes };
	return { ...guessed(inspection, lastLine), program, pid, cwd, ...counted, lastLine, offset, episode, since };
}

/** Guesses the state from the last line if the kernel gives no answer. */
export function guessed(
	{ state, kind, confidence, quietMs }: Pick<Inspection, "state" | "kind" | "confidence" | "quietMs">,
	lastLine: string,
): Pick<ProgramState, "state" | "kind" | "confidence"> {
	const isHidden = state === "unknown" && (kind === "denied" || kind === "relay");
	if (!isHidden || quietMs < GUESS_QUIET_MS || !LIKE_A_PROMPT.test(lastLine)) return { state, kind, confidence };
	return { state: "waiting", kind: "line", confidence: "guess" };
}
