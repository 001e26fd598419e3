/** Workspaces and tasks, as the native API has them. */

/** What the sessions of a workspace may have together; what is left out is as for the whole server. */
export type WorkspaceLimits = {
	/** That run at a time. */
	sessions?: number;
	/** Of all journals: what running sessions may ask for, and what ended ones have. */
	journalBytes?: number;
	startsPerSecond?: number;
};

/** Declares a workspace, or replaces what was declared. */
export type PutWorkspace = {
	name?: string;
	/** Directories that programs may be started in, or below; none means anywhere. */
	roots: string[];
	limits?: WorkspaceLimits;
};

export type WorkspaceMessage = {
	id: string;
	name: string | null;
	roots: string[];
	limits: WorkspaceLimits;
	createdAt: number;
	/** Only where it was just declared: in which roots no program could be started now, and why. */
	warnings?: string[];
};

/** All that the caller may read, by id. */
export type WorkspaceList = { workspaces: WorkspaceMessage[] };

/** Makes a task, or replaces it. */
export type PutTask = {
	workDir: string;
	/** What it is done for: an id, and a key that people know it by. */
	issueId?: string;
	issueKey?: string;
	/** Of the agent that worked on it before. */
	priorSessionId?: string;
	env?: Record<string, string>;
};

export type TaskMessage = {
	id: string;
	workspace: string;
	workDir: string;
	issueId: string | null;
	issueKey: string | null;
	priorSessionId: string | null;
	/** Only for who may manage the workspace. */
	env?: Record<string, string>;
	createdAt: number;
	/** Only where it was just made: why no program could be started for it now. */
	warnings?: string[];
};

/** Newest first. */
export type TaskList = { tasks: TaskMessage[] };
