/** Workspaces of a server, and their tasks. */

import type { PutTask, PutWorkspace, TaskMessage, WorkspaceMessage } from "../../api/types.ts";
import type { RequestOptions } from "../attach/attachment.ts";
import type { Transport } from "../http/transport.ts";

export interface WorkspacesClient {
	/** Declared workspaces that the caller may read, by id. */
	list(options?: RequestOptions): Promise<readonly WorkspaceMessage[]>;
	/** Throws `not_found` when there is none. */
	get(id: string, options?: RequestOptions): Promise<WorkspaceMessage>;
	/** Declares a workspace, or replaces it; for the operator. */
	put(id: string, request: PutWorkspace, options?: RequestOptions): Promise<WorkspaceMessage>;
	/** Removes a workspace, its tasks and its sessions. Running sessions need `force`. For the operator. */
	remove(id: string, options?: RequestOptions & { readonly force?: boolean }): Promise<void>;
	/** The tasks of a workspace; makes no request. */
	tasks(workspace: string): TasksClient;
}

export interface TasksClient {
	/** Newest first. */
	list(options?: RequestOptions): Promise<readonly TaskMessage[]>;
	/** Throws `not_found` when there is none. */
	get(id: string, options?: RequestOptions): Promise<TaskMessage>;
	/** Creates a task, or replaces it. */
	put(id: string, request: PutTask, options?: RequestOptions): Promise<TaskMessage>;
	/** Removes a task. Its sessions continue. */
	remove(id: string, options?: RequestOptions): Promise<void>;
}

export function workspaces(transport: Transport): WorkspacesClient {
	return {
		list: async (options = {}) => (await transport.call("listWorkspaces", options)).workspaces,
		get: (ws, options) => transport.call("getWorkspace", { params: { ws }, ...options }),
		put: (ws, body, options) => transport.call("putWorkspace", { params: { ws }, body, ...options }),
		async remove(ws, { force, signal } = {}) {
			await transport.open("deleteWorkspace", { params: { ws }, query: { force }, signal });
		},
		tasks: (workspace) => tasks(transport, workspace),
	};
}

function tasks(transport: Transport, ws: string): TasksClient {
	return {
		list: async (options) => (await transport.call("listTasks", { params: { ws }, ...options })).tasks,
		get: (task, options) => transport.call("getTask", { params: { ws, task }, ...options }),
		put: (task, body, options) => transport.call("putTask", { params: { ws, task }, body, ...options }),
		async remove(task, options) {
			await transport.open("deleteTask", { params: { ws, task }, ...options });
		},
	};
}
