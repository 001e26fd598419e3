/** Workspaces, which separate the users of a server, and tasks within them. */

import { SessionError } from "../errors.ts";
import type { ConfiningPolicy } from "../process/sandbox-policy.ts";

/** The workspace of sessions that name none, and of protocols without workspaces. */
export const defaultWorkspace = "default";

/** Limits for all sessions of a workspace together. Missing ones default to the server's. */
export type WorkspaceLimits = {
	/** Running sessions. */
	readonly sessions?: number;
	/** Bytes of all journals: the limits of running sessions, and the sizes of ended ones. */
	readonly journalBytes?: number;
	readonly startsPerSecond?: number;
};

export type WorkspaceRequest = {
	readonly name?: string;
	/** Directories that programs may be started in or below. An empty list allows any. */
	readonly roots: readonly string[];
	readonly limits?: WorkspaceLimits;
	/** For `workspaceWrite` without `writableRoots`, the roots of the workspace are writable. */
	readonly sandbox?: ConfiningPolicy;
};

export type Workspace = {
	readonly id: string;
	readonly name: string | null;
	readonly roots: readonly string[];
	readonly limits: WorkspaceLimits;
	/** All programs started in it run under this policy or a stricter one; null allows any. */
	readonly sandbox: ConfiningPolicy | null;
	/** Milliseconds since the epoch, like all times. */
	readonly createdAt: number;
};

export type TaskRequest = {
	readonly workDir: string;
	readonly issueId?: string;
	readonly issueKey?: string;
	readonly priorSessionId?: string;
	readonly env?: Readonly<Record<string, string>>;
};

/** A piece of work with its own directory. */
export type Task = {
	readonly id: string;
	readonly workspace: string;
	readonly workDir: string;
	/** Identifies the issue it is done for: an id, and a key such as `MUL-2295`. */
	readonly issueId: string | null;
	readonly issueKey: string | null;
	/** Session of the agent that worked on it before. */
	readonly priorSessionId: string | null;
	/** Set for every program that is started for it. */
	readonly env: Readonly<Record<string, string>>;
	/** The principal that set it last; null if that was the operator. */
	readonly owner: string | null;
	readonly createdAt: number;
};

/**
 * The principal that changes a task and becomes its owner. `check` throws if it may not change a task of this owner.
 */
export type Owner = { readonly id: string; readonly check: (owner: string | null) => void };

/** The rules that apply when a session is started. */
export interface WorkspaceRules {
	get(id: string): Workspace | undefined;
	/** Counts one more start. Returns zero if it is allowed, else the milliseconds to wait. */
	countStart(id: string): number;
	/**
	 * The working directory for a program: `directory` itself in a workspace without roots, else its real path if that is
	 * below a root. Rejects with `permission_denied`, or with `spawn_failed` when the directory can't be resolved.
	 */
	resolveDirectory(workspace: string, directory: string): Promise<string>;
}

/**
 * Refuses operations that the server would perform outside of a sandbox, in a workspace that requires one. Operations
 * that need only the network are allowed if the policy allows the network.
 */
export function checkUnconfined(
	workspaces: Pick<WorkspaceRules, "get"> | undefined,
	workspace: string,
	{ what, needs }: { readonly what: string; readonly needs: "files" | "network" },
): void {
	const policy = workspaces?.get(workspace)?.sandbox;
	if (!policy || (needs === "network" && policy.networkAccess === true)) return;
	throw new SessionError(
		"permission_denied",
		`workspace "${workspace}" requires the sandbox policy "${policy.type}", and ${what} would not run in a sandbox`,
		{ hint: "start a program that does it" },
	);
}

/** All declared workspaces. Others may have sessions too, without roots and limits of their own. */
export interface Workspaces extends WorkspaceRules {
	list(): readonly Workspace[];
	/** Creates or replaces a workspace. It is on disk when the promise resolves. */
	put(id: string, request: WorkspaceRequest): Promise<Workspace>;
	/** Removes it with its tasks. False if it did not exist. */
	remove(id: string): Promise<boolean>;
	task(workspace: string, id: string): Task | undefined;
	/** Newest first. */
	tasks(workspace: string): readonly Task[];
	/** Rejects with `not_found` for a workspace that is not declared. */
	putTask(workspace: string, id: string, request: TaskRequest, owner: Owner): Promise<Task>;
	removeTask(workspace: string, id: string, owner: Owner): Promise<boolean>;
}
