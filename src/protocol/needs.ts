/** When somebody is needed: the same for lists, for `watch` and for who is told by a webhook. */

import type { ExitMessage, SessionMessage, Waiting } from "./messages.ts";

/** How questions end, blanks aside; a line that does not is a prompt for commands, or nothing. The third is what is taken without an answer, as in `name: (hawser)`. */
const QUESTION_ENDS: readonly RegExp[] = [
	/[?:]\s*$/,
	/[[(][^\])]*[/|][^\])]*[\])]\s*[:?>]?\s*$/,
	/[?:]\s*[[(][^\])]*[\])]\s*$/,
	/\bpress\b.*\b(key|enter|return)\b/i,
	/\b(password|passphrase|pin)\b/i,
];

/** The line of a menu that is pointed at, as `❯ 1. Yes`. */
const POINTED_AT = /^\s*[❯›▸▶➤>]\s*\d{1,2}[.)]\s/;

/** Whether a program that waits asks somebody something: not a shell or another prompt for commands, nor a program that merely reads. */
export function isQuestion({
	kind,
	prompt,
	choices = [],
}: Pick<Waiting, "prompt" | "choices"> & { kind: string }): boolean {
	if (kind === "secret") return true;
	if (kind === "prompt") return false;
	// What has the screen to itself waits for keys all the time.
	if (kind === "tui") return choices.length > 0;
	return POINTED_AT.test(prompt) || QUESTION_ENDS.some((end) => end.test(prompt));
}

/** By itself, and not well: what somebody killed or gave a time to ended as it was meant to, and so did a shell that was left. */
export function isFailure({ exit, argv, mode }: Ended): boolean {
	if (!exit) return false;
	if (exit.reason === undefined && exit.signal === null && mode === "pty" && isShell(argv)) return false;
	return exit.reason === "oom" || (exit.reason === undefined && (exit.code ?? 1) !== 0);
}

type Ended = {
	readonly exit: Readonly<ExitMessage> | null;
	readonly argv: readonly string[];
	readonly mode: SessionMessage["mode"];
};

/** One that takes commands from a person: it has nothing to run, only flags. Its code is that of the last command, or what was typed behind `exit`. */
function isShell([program = "", ...words]: readonly string[]): boolean {
	const isKnown = /^-?(?:(?:ba|da|z|fi|k|mk|tc|c)?sh|nu)$/.test(program.split("/").at(-1) ?? "");
	return isKnown && words.every((word) => /^--?[a-z]/.test(word) && !/^-[a-z]*c/.test(word));
}
