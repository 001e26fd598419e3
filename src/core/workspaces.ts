/** Workspaces, which separate those who share a server, and tasks, which give a terminal its place in one. */

/** What the sessions of a workspace may have together; what is not said is as for the whole server. */
export type WorkspaceLimits = {
	/** That run at a time. */
	readonly sessions?: number;
	/** Of all journals, of ended sessions too. */
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

/** All that were declared. A workspace that was not has sessions all the same, with neither roots nor limits of its own. */
export interface Workspaces {
	get(id: string): Workspace | undefined;
	list(): readonly Workspace[];
	/** Makes it, or replaces what was said of it; on disk when it resolves. */
	put(id: string, request: WorkspaceRequest): Promise<Workspace>;
	/** With its tasks; false if there was none. */
	remove(id: string): Promise<boolean>;
	task(workspace: string, id: string): Task | undefined;
	/** Newest first. */
	tasks(workspace: string): readonly Task[];
	putTask(workspace: string, id: string, request: TaskRequest): Promise<Task>;
	removeTask(workspace: string, id: string): Promise<boolean>;
	/** The real path of a directory, once it is proven to be allowed in that workspace; rejects with `permission_denied`. */
	admit(workspace: string, directory: string): Promise<string>;
}
