/** Completes a start request with the server's defaults. */

import { SessionError } from "../../core/errors.ts";
import type { RequestedStart } from "../../core/policy/planned-start.ts";
import type { Inherited } from "../../core/process/process.ts";
import type { SandboxPolicy } from "../../core/process/sandbox-policy.ts";
import type { Retention, SessionSpec } from "../../core/session/session-info.ts";
import type { Task } from "../../core/session/workspaces.ts";
import { defaultSize, type Prepare, type StartRequest } from "./request.ts";

/** Values for fields that a request leaves out. */
type StartDefaults = {
	readonly cwd: string;
	readonly workspace: string;
	readonly durable: boolean;
	readonly retention: Retention;
	readonly drainMs: number;
	/** Variables that programs inherit from the server's environment. */
	readonly inherited?: Inherited;
};

type PrepareParts = {
	readonly defaults: StartDefaults;
	readonly newId: () => string;
	readonly now: () => number;
	/** Computes the child's environment from a request's changes and the base environment. */
	readonly environment: (
		request: Readonly<Record<string, string | null>>,
		session: SessionOfEnvironment,
		base: Readonly<Record<string, string>> | undefined,
	) => Readonly<Record<string, string>>;
	/** Finds a task of a workspace. */
	readonly task?: (workspace: string, id: string) => Task | undefined;
	/** The sandbox that a workspace requires, for a program that requests none. */
	readonly requiredSandbox?: (workspace: string) => SandboxPolicy | undefined;
};

type SessionOfEnvironment = Pick<SessionSpec, "id" | "mode" | "argv">;

export function createPrepare(parts: PrepareParts): Prepare {
	const { defaults } = parts;
	return (request: StartRequest): RequestedStart => {
		const { env, base, exactEnv, size, sizePolicy, name = null, task: taskId, retention, ...fields } = request;
		const { arg0, stdin = "open", stderr, uid, gid, groups, sandbox, drainMs = defaults.drainMs, ...ofSpec } = fields;
		const { argv, mode = "pty", workspace = defaults.workspace, durable = defaults.durable } = ofSpec;
		const id = parts.newId();
		const task = taskId === undefined ? undefined : findTask(parts, workspace, taskId);
		const session = { id, mode, argv };
		const cwd = ofSpec.cwd ?? task?.workDir ?? defaults.cwd;
		const firstSize = { cols: size?.cols ?? defaultSize.cols, rows: size?.rows ?? defaultSize.rows };
		return {
			spec: {
				labels: {},
				timeoutMs: 0,
				idleTimeoutMs: 0,
				idleExemptJobs: false,
				...given(ofSpec),
				...given({ task: task?.id, firstSizePolicy: sizePolicy }),
				id,
				name,
				workspace,
				argv,
				cwd,
				mode,
				firstSize,
				durable,
				retention: {
					memoryBytes: retention?.memoryBytes ?? defaults.retention.memoryBytes,
					journalBytes: retention?.journalBytes ?? (durable ? defaults.retention.journalBytes : 0),
				},
				createdAt: parts.now(),
			},
			command: {
				argv,
				env: exactEnv ?? parts.environment({ ...task?.env, ...env }, session, base),
				cwd,
				mode,
				size: firstSize,
				stdin,
				...given({
					arg0,
					stderr,
					uid,
					gid,
					groups,
					sandbox: sandbox ?? parts.requiredSandbox?.(workspace),
					inherited: defaults.inherited,
				}),
				drainMs,
				sessionId: id,
			},
			usual: { cwd: defaults.cwd, env: parts.environment({}, session, undefined) },
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

/** Only the fields that are set. */
function given<Fields extends object>(fields: Fields): { [K in keyof Fields]?: Exclude<Fields[K], undefined> } {
	return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
		[K in keyof Fields]?: Exclude<Fields[K], undefined>;
	};
}

type RandomBytes = (count: number) => Uint8Array;

const ID_LENGTH = 12;
const NODE_LENGTH = 6;
const ID_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789";
/** The largest multiple of 36 that fits into a byte. Values above it would favor the first letters. */
const ID_FAIR = 252;

/** A session id: 12 letters and digits (62 bits), and the node's code, if there is one. */
export function createId(randomBytes: RandomBytes, node = ""): string {
	return randomLetters(randomBytes, ID_LENGTH) + node;
}

/** A code for a node: long enough to be unique in a fleet of thousands, and short enough to read. */
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
