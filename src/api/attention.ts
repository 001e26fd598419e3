/** Decides when a session needs a user. Lists, `watch` and webhooks all use this. */

import type { ExitMessage, SessionMessage, Waiting } from "./types.ts";

/** How questions end, ignoring blanks; other lines are command prompts or no prompts. The third form offers a default, as in `name: (hawser)`. */
const QUESTION_ENDS: readonly RegExp[] = [
	/[?:]\s*$/,
	/[[(][^\])]*[/|][^\])]*[\])]\s*[:?>]?\s*$/,
	/[?:]\s*[[(][^\])]*[\])]\s*$/,
	/\bpress\b.*\b(key|enter|return)\b/i,
	/\b(password|passphrase|pin)\b/i,
];

/** The selected line of a menu, as `❯ 1. Yes`. */
const POINTED_AT = /^\s*[❯›▸▶➤>]\s*\d{1,2}[.)]\s/;

/** Whether a waiting program asks a question, rather than showing a command prompt or merely reading. */
export function isQuestion({
	kind,
	prompt,
	choices = [],
}: Pick<Waiting, "prompt" | "choices"> & { kind: string }): boolean {
	if (kind === "secret") return true;
	if (kind === "prompt") return false;
	// A full-screen program always waits for keys.
	if (kind === "tui") return choices.length > 0;
	return POINTED_AT.test(prompt) || QUESTION_ENDS.some((end) => end.test(prompt));
}

/** Whether the program failed on its own. Being killed or timed out is intended, and a shell that was left has not failed. */
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

/** An interactive shell: it has only flags and no command to run. Its exit code is that of the last command, or the argument of `exit`. */
function isShell([program = "", ...words]: readonly string[]): boolean {
	const isKnown = /^-?(?:(?:ba|da|z|fi|k|mk|tc|c)?sh|nu)$/.test(program.split("/").at(-1) ?? "");
	return isKnown && words.every((word) => /^--?[a-z]/.test(word) && !/^-[a-z]*c/.test(word));
}
