/** What a server says to those who write programs, in the words of those who type commands: flags for fields, names for ids. */

import type { ErrorCode } from "../protocol/messages.ts";

const TAKE = "hawser attach --take takes control";
const SHOW_TOKEN = "show a token with --token or HAWSER_TOKEN; hawser token create makes one";

/** What to do where the server says nothing of it. */
const hints: Readonly<Partial<Record<ErrorCode, string>>> = { not_writable: TAKE, unauthenticated: SHOW_TOKEN };

/** What some of its hints mean. */
const hintMeanings: readonly (readonly [says: RegExp, means: string])[] = [
	[/attachment\.take|take control again|attach as a writer/, TAKE],
	[/Authorization: Bearer/, SHOW_TOKEN],
	[/force=1/, "end them first, or use --force, which ends them"],
	[/PUT \/v1\/workspaces/, "the operator declares it with hawser workspace set"],
	[/allowHttp/, "use https, or --allow-http if nobody on the way may be a stranger"],
	[/choose another name, or end that session/, "choose another name, or hawser kill that session"],
	[/retain\.journalBytes/, "ask for a smaller --journal, or for --no-durable, or end some that run"],
	[
		/one that is not durable/,
		"end some of those that run, use --no-durable, or start the server with a higher --max-disk",
	],
	[/a session that is not durable/, "free some space, or use --no-durable"],
];

/** The field with which a sentence about a request begins, as it is known to whoever typed a command. */
const fields: readonly (readonly [field: RegExp, words: string])[] = [
	[/^labels\.(.*?): /, "--label $1: "],
	[/^labels: /, "--label: "],
	[/^env\.(.*?): /, "--env $1: "],
	[/^env: /, "--env: "],
	[/^baseEnv\.(.*?): /, "the variable $1 here: "],
	[/^argv(?:\.\d+)?: /, "the command: "],
	[/^(?:ws|workspace): /, "the workspace's id: "],
	[/^task: /, "the task's id: "],
	[/^name: /, "the name: "],
	[/^url: /, "the address: "],
	[/^cwd: /, "--cwd: "],
	[/^(?:cols|rows): /, "the size: "],
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

/** What the user calls the sessions that this command is about, by their ids. */
const called = new Map<string, string>();

/** From now on, sentences name the session as its user does. */
export function callSession(id: string, name: string): void {
	called.set(id, name);
}

/** The server's sentence and what to do about it. */
export function inCommands({ code, message, hint }: { code: ErrorCode; message: string; hint: string | undefined }): {
	readonly message: string;
	readonly hint: string | undefined;
} {
	const meaning = hint === undefined ? hints[code] : (hintMeanings.find(([says]) => says.test(hint))?.[1] ?? hint);
	return { message: byName(byFlag(message)), hint: meaning };
}

function byFlag(message: string): string {
	const [field, words] = fields.find(([one]) => one.test(message)) ?? [];
	return field === undefined || words === undefined ? message : message.replace(field, words);
}

function byName(message: string): string {
	let named = message;
	for (const [id, name] of called) named = named.replaceAll(JSON.stringify(id), () => JSON.stringify(name));
	return named;
}
