/** Makes a complete start out of what a front was asked for, with the server's defaults for the rest. */

import { SessionError } from "../core/errors.ts";
import type { RequestedStart } from "../core/planned-start.ts";
import type { Inherited } from "../core/process.ts";
import type { Retention } from "../core/session.ts";
import type { Task } from "../core/workspaces.ts";
import { defaultSize, type Prepare, type StartRequest } from "./front.ts";

/** What is given to a session that does not ask for anything else. */
type StartDefaults = {
	readonly cwd: string;
	readonly workspace: string;
	readonly durable: boolean;
	readonly retention: Retention;
	readonly drainMs: number;
	/** What every program takes over from whoever started the server. */
	readonly inherited?: Inherited;
};

type PrepareParts = {
	readonly defaults: StartDefaults;
	readonly newId: () => string;
	readonly now: () => number;
	/** The child's whole environment, for what a request adds and takes away, and what that is added to. */
	readonly environment: (
		request: Readonly<Record<string, string | null>>,
		sessionId: string,
		base: Readonly<Record<string, string>> | undefined,
	) => Readonly<Record<string, string>>;
	/** Where there are tasks. */
	readonly task?: (workspace: string, id: string) => Task | undefined;
};

export function createPrepare(parts: PrepareParts): Prepare {
	const { defaults } = parts;
	return (request: StartRequest): RequestedStart => {
		const id = parts.newId();
		const mode = request.mode ?? "pty";
		const workspace = request.workspace ?? defaults.workspace;
		const task = request.task === undefined ? undefined : findTask(parts, workspace, request.task);
		const cwd = request.cwd ?? task?.workDir ?? defaults.cwd;
		const durable = request.durable ?? defaults.durable;
		const retention = {
			memoryBytes: request.retention?.memoryBytes ?? defaults.retention.memoryBytes,
			journalBytes: request.retention?.journalBytes ?? (durable ? defaults.retention.journalBytes : 0),
		};
		const size = { cols: request.size?.cols ?? defaultSize.cols, rows: request.size?.rows ?? defaultSize.rows };
		return {
			spec: {
				id,
				name: request.name ?? null,
				labels: request.labels ?? {},
				workspace,
				...given({ task: task?.id }),
				argv: request.argv,
				cwd,
				mode,
				firstSize: size,
				durable,
				retention,
				timeoutMs: request.timeoutMs ?? 0,
				...given({ timeoutGraceMs: request.timeoutGraceMs }),
				idleTimeoutMs: request.idleTimeoutMs ?? 0,
				idleExemptJobs: request.idleExemptJobs ?? false,
				...given({
					firstSizePolicy: request.sizePolicy,
					answersQueries: request.answersQueries,
					colors: request.colors,
					awaitsTerminal: request.awaitsTerminal,
					holdOutput: request.holdOutput,
					shellHooks: request.shellHooks,
				}),
				createdAt: parts.now(),
				...given({ request: request.request }),
			},
			command: {
				argv: request.argv,
				env: request.exactEnv ?? parts.environment({ ...task?.env, ...request.env }, id, request.base),
				cwd,
				mode,
				size,
				stdin: request.stdin ?? "open",
				...given({
					arg0: request.arg0,
					stderr: request.stderr,
					uid: request.uid,
					gid: request.gid,
					groups: request.groups,
					sandbox: request.sandbox,
					inherited: defaults.inherited,
				}),
				drainMs: request.drainMs === undefined ? defaults.drainMs : request.drainMs,
				sessionId: id,
			},
			chosen: { cwd: request.cwd, variables: request.exactEnv ?? request.env ?? {} },
		};
	};
}

function findTask(parts: PrepareParts, workspace: string, id: string): Task {
	const task = parts.task?.(workspace, id);
	if (task) return task;
	throw new SessionError(
		"not_found",
		`there is no task ${JSON.stringify(id)} in workspace ${JSON.stringify(workspace)}`,
	);
}

/** Only what was said. */
function given<Fields extends object>(fields: Fields): { [K in keyof Fields]?: Exclude<Fields[K], undefined> } {
	return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
		[K in keyof Fields]?: Exclude<Fields[K], undefined>;
	};
}

type RandomBytes = (count: number) => Uint8Array;

const ID_LENGTH = 12;
const NODE_LENGTH = 6;
const ID_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789";
/** The largest multiple of 36 that fits a byte: what lies above would favour the first letters. */
const ID_FAIR = 252;

/** A session id: 12 letters and digits, 62 bits, and the code of the node that has it, if it has one. */
export function createId(randomBytes: RandomBytes, node = ""): string {
	return randomLetters(randomBytes, ID_LENGTH) + node;
}

/** What stands for a node: enough for a fleet of thousands to have no two alike, and short enough to be read. */
export function createNodeCode(randomBytes: RandomBytes): string {
	return randomLetters(randomBytes, NODE_LENGTH);
}

function randomLetters(randomBytes: RandomBytes, length: number): string {
	let text = "";
	while (text.length < length) {
		for (const byte of randomBytes(2 * length)) {
			if (byte < ID_FAIR && text.length < length) text += ID_LETTERS.charAt(byte % ID_LETTERS.length);
		}
	}
	return text;
}
