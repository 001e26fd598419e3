/** Workspaces, which separate those who share a server, and tasks, which give a terminal its place in one. */

/** Where sessions are that name no workspace, and those of protocols that know none. */
export const defaultWorkspace = "default";

/** What a workspace and a task may be called: it stands in scopes, in names of files and in addresses, in which `.` and `..` mean something else. */
export const idPattern = "^(?!\\.{1,2}$)[A-Za-z0-9_.-]{1,64}$";

/** What the sessions of a workspace may have together; what is not said is as for the whole server. */
export type WorkspaceLimits = {
	/** That run at a time. */
	readonly sessions?: number;
	/** Of all journals: what running sessions may ask for, and what ended ones have. */
	readonly journalBytes?: number;
	readonly startsPerSecond?: number;
};

export type WorkspaceRequest = {
	readonly name?: string;
	/** Directories that programs may be started in, or below; none means anywhere. */
	readonly roots: readonly string[];
	readonly limits?: WorkspaceLimits;
};

export type Workspace = {
	readonly id: string;
	readonly name: string | null;
	readonly roots: readonly string[];
	readonly limits: WorkspaceLimits;
	/** Milliseconds since the epoch, as all times. */
	readonly createdAt: number;
};

export type TaskRequest = {
	readonly workDir: string;
	readonly issueId?: string;
	readonly issueKey?: string;
	readonly priorSessionId?: string;
	readonly env?: Readonly<Record<string, string>>;
};

/** A piece of work with a directory of its own. */
export type Task = {
	readonly id: string;
	readonly workspace: string;
	readonly workDir: string;
	/** What it is done for, as others call it: an id, and a key such as `MUL-2295`. */
	readonly issueId: string | null;
	readonly issueKey: string | null;
	/** Of the agent that worked on it before. */
	readonly priorSessionId: string | null;
	/** For every program that is started for it. */
	readonly env: Readonly<Record<string, string>>;
	readonly createdAt: number;
};

/** What is asked of workspaces when a session is started. */
export interface WorkspaceRules {
	get(id: string): Workspace | undefined;
	/** Counts one more start; zero if it may be, otherwise how long to wait, in milliseconds. */
	countStart(id: string): number;
	/**
	 * Where to start a program that is to run in `directory`: there, in a workspace without roots; else in its real path,
	 * once that is proven to be in one of them. Rejects with `permission_denied`, or with `spawn_failed` when the
	 * directory can't be looked up.
	 */
	admit(workspace: string, directory: string): Promise<string>;
}

/** All that were declared. A workspace that was not has sessions all the same, with neither roots nor limits of its own. */
export interface Workspaces extends WorkspaceRules {
	list(): readonly Workspace[];
	/** Makes it, or replaces what was said of it; on disk when it resolves. */
	put(id: string, request: WorkspaceRequest): Promise<Workspace>;
	/** With its tasks; false if there was none. */
	remove(id: string): Promise<boolean>;
	task(workspace: string, id: string): Task | undefined;
	/** Newest first. */
	tasks(workspace: string): readonly Task[];
	/** Rejects with `not_found` for a workspace that was not declared. */
	putTask(workspace: string, id: string, request: TaskRequest): Promise<Task>;
	removeTask(workspace: string, id: string): Promise<boolean>;
}
