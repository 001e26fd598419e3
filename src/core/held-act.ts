/** An act that is held: what is shown of it, what may stand in its way once it is approved, and what its caller is told. */

import type { Approval } from "./approvals.ts";
import { SessionError } from "./errors.ts";
import type { Session, SessionInfo } from "./session.ts";
import { isEnded } from "./state.ts";

/** What is shown of an act, in UTF-16 units: its beginning and its end. */
const PREVIEW_BEGIN = 3_000;
const PREVIEW_END = 1_000;

export type HeldAct = {
	readonly kind: Approval["kind"];
	readonly reason: Approval["reason"];
	readonly text: string;
	readonly bytes: Uint8Array;
	/** Whether it is an answer to what the session shows. */
	readonly isTyped: boolean;
	/** Whether its line has something in it already. */
	readonly isBegun?: boolean;
};

/** What is done as it is told, and typed nowhere. */
export function plainAct(kind: HeldAct["kind"], text: string, reason: HeldAct["reason"]): HeldAct {
	return { kind, reason, text, bytes: new TextEncoder().encode(text), isTyped: false };
}

/** Why what was approved is not done now: somebody else has control, or other things are asked by now. */
export async function obstacle(session: Session, then: SessionInfo, isAnswer: boolean): Promise<string | undefined> {
	const now = await session.info();
	if (isEnded(session.state)) return "the session has ended";
	if (now.unreachable) return "whoever keeps the session does not answer";
	if (now.lease.fence !== then.lease.fence) return "control of the session has changed hands";
	const isChanged = isAnswer && now.offsets.end > then.offsets.end;
	return isChanged && !(await isFullScreen(session)) ? "there was more output since it was asked for" : undefined;
}

/** A program that has the screen to itself draws all the time, whatever it asks. */
export async function isFullScreen(session: Session): Promise<boolean> {
	return session.spec.mode === "pty" && (await session.scan()).alternate.isOn;
}

export function notApproved({ id, state, decidedBy, note }: Approval, { kind, isBegun }: HeldAct): SessionError {
	const why = note === undefined ? "" : `: ${note}`;
	const outcomes: Readonly<Record<Approval["state"], string>> = {
		asked: "is not decided",
		granted: "was granted",
		denied: `was denied by ${decidedBy ?? "somebody"}${why}`,
		expired: `has expired${why}`,
		withdrawn: `was withdrawn${why}`,
	};
	return new SessionError("not_approved", `approval ${id} of this ${kind} ${outcomes[state]}; nothing was done`, {
		...(isBegun
			? {
					hint: "what was typed of the line before is still there; C-u takes it away, and the next line is judged with it",
				}
			: {}),
	});
}

export function lineHasChanged(): SessionError {
	return new SessionError("not_approved", "it was approved, but more was typed into its line since; nothing was done", {
		hint: "clear the line with C-u, and ask again",
	});
}

/** Fit to be shown anywhere: what is not text is told by its number. */
export function preview(text: string): string {
	const safe = text.replaceAll("\r", "\n").replace(UNSAFE, (character) => {
		return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
	});
	const omitted = safe.length - PREVIEW_BEGIN - PREVIEW_END;
	if (omitted <= 0) return safe;
	return `${safe.slice(0, PREVIEW_BEGIN)}\n[… ${omitted} characters are left out here …]\n${safe.slice(-PREVIEW_END)}`;
}

/** Control characters but newline and tab, what changes the direction of text, and what is not seen at all. */
const UNSAFE =
	/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u115f\u1160\u2800\u3164\uffa0\ufffc\ufffd\p{Cf}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}]/gu;
