/** Workspaces and their tasks, as a program sees them. */

import type {
	PutTask,
	PutWorkspace,
	TaskList,
	TaskMessage,
	WorkspaceList,
	WorkspaceMessage,
} from "../protocol/workspaces.ts";
import type { ActOptions } from "./attachment.ts";
import type { Call, Transport } from "./transport.ts";

export interface WorkspacesClient {
	/** Those that were declared and that you may read, by id. */
	list(options?: ActOptions): Promise<WorkspaceMessage[]>;
	/** Throws `not_found` when there is none. */
	get(id: string, options?: ActOptions): Promise<WorkspaceMessage>;
	/** Declares it, or replaces what was declared; for the operator. */
	put(id: string, request: PutWorkspace, options?: ActOptions): Promise<WorkspaceMessage>;
	/** Forgets it, its tasks and its sessions, which must have ended unless `force` ends them; for the operator. */
	remove(id: string, options?: ActOptions & { readonly force?: boolean }): Promise<void>;
	/** The tasks of one, without asking whether it exists. */
	tasks(workspace: string): TasksClient;
}

export interface TasksClient {
	/** Newest first. */
	list(options?: ActOptions): Promise<TaskMessage[]>;
	/** Throws `not_found` when there is none. */
	get(id: string, options?: ActOptions): Promise<TaskMessage>;
	/** Makes it, or replaces it. */
	put(id: string, request: PutTask, options?: ActOptions): Promise<TaskMessage>;
	/** Its sessions go on. */
	remove(id: string, options?: ActOptions): Promise<void>;
}

export function workspacesAt(transport: Transport): WorkspacesClient {
	const root = "/v1/workspaces";
	const at = (id: string) => `${root}/${encodeURIComponent(id)}`;
	return {
		list: async ({ signal } = {}) => (await json<WorkspaceList>(transport, { path: root, signal })).workspaces,
		get: (id, { signal } = {}) => json(transport, { path: at(id), signal }),
		put: (id, request, { signal } = {}) => json(transport, { method: "PUT", path: at(id), json: request, signal }),
		async remove(id, { force, signal } = {}) {
			const query = force ? { force: "1" } : {};
			await transport.request({ method: "DELETE", path: at(id), query, signal });
		},
		tasks: (workspace) => tasksAt(transport, `${at(workspace)}/tasks`),
	};
}

function tasksAt(transport: Transport, root: string): TasksClient {
	const at = (id: string) => `${root}/${encodeURIComponent(id)}`;
	return {
		list: async ({ signal } = {}) => (await json<TaskList>(transport, { path: root, signal })).tasks,
		get: (id, { signal } = {}) => json(transport, { path: at(id), signal }),
		put: (id, request, { signal } = {}) => json(transport, { method: "PUT", path: at(id), json: request, signal }),
		async remove(id, { signal } = {}) {
			await transport.request({ method: "DELETE", path: at(id), signal });
		},
	};
}

async function json<Answer>(transport: Transport, call: Call): Promise<Answer> {
	return (await (await transport.request(call)).json()) as Answer;
}
