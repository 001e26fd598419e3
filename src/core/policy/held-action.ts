/** A held action: its preview, the reasons why it may not run after approval, and the errors of its caller. */

import { SessionError } from "../errors.ts";
import { isEnded } from "../log/session-state.ts";
import type { Session } from "../session/session.ts";
import type { SessionInfo } from "../session/session-info.ts";
import type { Approval } from "./approvals.ts";

/** Length of the preview in UTF-16 units: the beginning and the end of the action. */
const PREVIEW_BEGIN = 3_000;
const PREVIEW_END = 1_000;

export type HeldAction = {
	readonly kind: Approval["kind"];
	readonly reason: Approval["reason"];
	readonly text: string;
	readonly bytes: Uint8Array;
	/** Whether it is input that answers what the session shows. */
	readonly isTyped: boolean;
	/** Whether there was already text on the line. */
	readonly isBegun?: boolean;
};

/** An action that is not typed. */
export function untypedAction(kind: HeldAction["kind"], text: string, reason: HeldAction["reason"]): HeldAction {
	return { kind, reason, text, bytes: new TextEncoder().encode(text), isTyped: false };
}

/** Why an approved action can't be performed: control has changed, or the session has written more since. */
export async function reasonNotToRun(
	session: Session,
	then: SessionInfo,
	{ kind, isAnswer }: Pick<HeldAction, "kind"> & { readonly isAnswer: boolean },
): Promise<string | undefined> {
	const now = await session.summary();
	if (isEnded(session.state)) return kind === "delete" ? undefined : "the session has ended";
	if (now.unreachable) return "the session's keeper is not responding";
	if (now.lease.fence !== then.lease.fence) return "control of the session has changed hands";
	const isChanged = isAnswer && now.offsets.end > then.offsets.end;
	return isChanged && !(await isFullScreen(session)) ? "there was more output since it was asked for" : undefined;
}

/** A full-screen program writes all the time, so output says nothing about its prompt. */
export async function isFullScreen(session: Session): Promise<boolean> {
	return session.spec.mode === "pty" && (await session.scan()).alternate.isOn;
}

export function notApprovedError(
	{ id, state, decidedBy, note }: Approval,
	{ kind, isBegun }: HeldAction,
): SessionError {
	const why = note === undefined ? "" : `: ${note}`;
	const outcomes: Readonly<Record<Approval["state"], string>> = {
		asked: "is not decided",
		granted: "was granted",
		denied: `was denied by ${decidedBy ?? "an unknown caller"}${why}`,
		expired: `has expired${why}`,
		withdrawn: `was withdrawn${why}`,
	};
	return new SessionError("not_approved", `approval ${id} of this ${kind} ${outcomes[state]}; nothing was done`, {
		...(isBegun
			? {
					hint: "the part of the line that was typed before is still there and is judged with the next line; C-u clears it",
				}
			: {}),
	});
}

export function lineChangedError(): SessionError {
	return new SessionError("not_approved", "more was typed into the line since it was approved; nothing was done", {
		hint: "clear the line with C-u and try again",
	});
}

/** The error for approved input whose stream was used by other input meanwhile. */
export function streamHasMoved(cause: SessionError): SessionError {
	const message = `other input was sent on its stream since it was judged: ${cause.message}`;
	return new SessionError("not_approved", message, {
		hint: "send it again on a stream that nothing else uses",
		cause,
	});
}

/** A printable preview: unsafe characters appear as code points. */
export function preview(text: string): string {
	const safe = text.replaceAll("\r", "\n").replace(UNSAFE, (character) => {
		return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
	});
	const omitted = safe.length - PREVIEW_BEGIN - PREVIEW_END;
	if (omitted <= 0) return safe;
	return `${safe.slice(0, PREVIEW_BEGIN)}\n[… ${omitted} characters omitted …]\n${safe.slice(-PREVIEW_END)}`;
}

/** Control characters except newline and tab, and characters that are invisible or change the direction of text. */
const UNSAFE =
	/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u115f\u1160\u2800\u3164\uffa0\ufffc\ufffd\p{Cf}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}]/gu;
