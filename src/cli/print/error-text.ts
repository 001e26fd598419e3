/** Rewords the server's messages for the command line: flags instead of fields, names instead of IDs. */

const TAKE = "take control with hawser attach --take";
const SHOW_TOKEN = "pass a token with --token or HAWSER_TOKEN; create one with hawser token create";

/** Hints for errors that the server sends without one. */
const hints: Readonly<Partial<Record<ErrorCode, string>>> = { not_writable: TAKE, unauthenticated: SHOW_TOKEN };

/** Replacements for the server's hints. */
const hintMeanings: readonly (readonly [says: RegExp, means: string])[] = [
	[/attachment\.take|take control again|attach as a writer/, TAKE],
	[/Authorization: Bearer/, SHOW_TOKEN],
	[/send text with/, "type text with hawser send SESSION TEXT --enter"],
	[/force=1/, "kill them first, or use --force"],
	[/PUT \/v1\/workspaces/, "the operator can create it with hawser workspace set"],
	[/allowHttp/, "use https, or --allow-http on a trusted network"],
	[/choose another name, or end that session/, "choose another name, or kill that session"],
	[/retain\.journalBytes/, "use a smaller --journal or --no-durable, or kill some sessions"],
	[/higher --max-disk/, "kill some sessions, use --no-durable, or raise the server's --max-disk"],
	[/a session that is not durable/, "free some space, or use --no-durable"],
];

/** Replacements for the field at the start of a validation message. */
const flagsByField: readonly (readonly [field: RegExp, words: string])[] = [
	[/^labels\.(.*?): /, "--label $1: "],
	[/^labels: /, "--label: "],
	[/^env\.(.*?): /, "--env $1: "],
	[/^env: /, "--env: "],
	[/^baseEnv\.(.*?): /, "variable $1: "],
	[/^argv(?:\.\d+)?: /, "command: "],
	[/^(?:ws|workspace): /, "workspace ID: "],
	[/^task: /, "task ID: "],
	[/^name: /, "--name: "],
	[/^url: /, "URL: "],
	[/^cwd: /, "--cwd: "],
	[/^(?:cols|rows): /, "--size: "],
	[/^timeoutMs: /, "--timeout: "],
	[/^idleTimeoutMs: /, "--idle-timeout: "],
	[/^retain\.journalBytes: /, "--journal: "],
	[/^limits\.sessions: /, "--max-sessions: "],
	[/^limits\.journalBytes: /, "--max-journals: "],
	[/^limits\.startsPerSecond: /, "--start-rate: "],
	[/^roots(?:\.\d+)?: /, "--root: "],
	[/^workDir: /, "--work-dir: "],
	[/^issueId: /, "--issue-id: "],
	[/^issueKey: /, "--issue-key: "],
	[/^priorSessionId: /, "--prior-session: "],
	[/^scopes(?:\.\d+)?: /, "--scope: "],
	[/^expiresInMs: /, "--expires: "],
];

/** Names that the user typed, by session ID. */
const sessionNames = new Map<string, string>();

/** Uses this name for the session in later messages. */
import type { ErrorCode } from "../../api/types.ts";
export function nameSession(id: string, name: string): void {
	sessionNames.set(id, name);
}

/** The message and hint to print. */
export function toCliError({ code, message, hint }: { code: ErrorCode; message: string; hint: string | undefined }): {
	readonly message: string;
	readonly hint: string | undefined;
} {
	const meaning = hint === undefined ? hints[code] : (hintMeanings.find(([says]) => says.test(hint))?.[1] ?? hint);
	return { message: byName(byFlag(message)), hint: meaning };
}

function byFlag(message: string): string {
	const [field, words] = flagsByField.find(([one]) => one.test(message)) ?? [];
	return field === undefined || words === undefined ? message : message.replace(field, words);
}

function byName(message: string): string {
	let named = message;
	for (const [id, name] of sessionNames) named = named.replaceAll(JSON.stringify(id), () => JSON.stringify(name));
	return named;
}
