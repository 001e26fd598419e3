/** What a session's program does, told with the question that it asks. */

import { type Inspection, isWaiting } from "../core/inspection.ts";
import type { Session } from "../core/session.ts";
import type { ProgramState, WaitMessage } from "../protocol/feed.ts";
import { readLastLine } from "./text.ts";

/** Where the kernel does not tell, a program that was quiet for so long below something like a prompt waits for a line. */
const GUESS_QUIET_MS = 1_000;

/** How prompts end, blanks aside; and what else programs say before they wait. */
const LIKE_A_PROMPT =
	/[:?>$#%❯][\s]*$|[[(](y(es)?\/n(o)?|yes\/no[^\])]*)[\])][\s:?]*$|password|passphrase|\bpin\b|press .*\bkey|\(END\)$|--More--/i;

export async function programState(session: Session, signal: AbortSignal): Promise<ProgramState> {
	return describeProgram(session, await session.inspect(), signal);
}

/** Resolves once the program waits for somebody, in a later episode than `after`, or has ended. */
export async function nextWait(
	session: Session,
	after: number,
	signal: AbortSignal,
): Promise<{ readonly state: ProgramState; readonly episode: number; readonly isWaiting: boolean }> {
	const found = await session.untilWaiting(after, signal);
	return { state: await describeProgram(session, found, signal), episode: found.episode, isWaiting: isWaiting(found) };
}

/** How it is told that a program waits: `ready` for a shell that takes a command. */
export function waitMessage({ state, kind, offset, lastLine: prompt, program }: ProgramState): WaitMessage {
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

/** What the text suggests, where nothing better is known. */
export function guessed(
	{ state, kind, confidence, quietMs }: Pick<Inspection, "state" | "kind" | "confidence" | "quietMs">,
	lastLine: string,
): Pick<ProgramState, "state" | "kind" | "confidence"> {
	const isHidden = state === "unknown" && (kind === "denied" || kind === "relay");
	if (!isHidden || quietMs < GUESS_QUIET_MS || !LIKE_A_PROMPT.test(lastLine)) return { state, kind, confidence };
	return { state: "waiting", kind: "line", confidence: "guess" };
}
