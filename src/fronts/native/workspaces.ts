/** Workspaces and their tasks over HTTP: declare, list, look at, forget. */

import type { FastifyRequest } from "fastify";
import { SessionError } from "../../core/errors.ts";
import type { Sessions } from "../../core/sessions.ts";
import { isEnded } from "../../core/state.ts";
import type { Task, Workspace, Workspaces } from "../../core/workspaces.ts";
import type { TaskMessage, WorkspaceMessage } from "../../protocol/workspaces.ts";
import { checkRight, may, witnessOf } from "../front.ts";
import type { NativeApp, NativeOptions } from "./options.ts";
import { principalOf } from "./request.ts";
import {
	putTask,
	putWorkspace,
	removeWorkspaceQuery,
	task,
	taskList,
	taskParams,
	workspace,
	workspaceList,
	workspaceParams,
} from "./workspace-messages.ts";

export function addWorkspaces(app: NativeApp, { workspaces, sessions, access, webhooks }: NativeOptions): void {
	app.get(
		"/v1/workspaces",
		{
			config: { policy: "read", operation: "listWorkspaces", summary: "List workspaces" },
			schema: { response: { 200: workspaceList } },
		},
		async (request) => ({
			workspaces: workspaces
				.list()
				.filter(({ id }) => request.principal?.may("read", { workspace: id }) === true)
				.map(workspaceMessage),
		}),
	);

	app.get(
		"/v1/workspaces/:ws",
		{
			config: { policy: "read", operation: "getWorkspace", summary: "Look at a workspace" },
			schema: { params: workspaceParams, response: { 200: workspace } },
		},
		async (request) => workspaceMessage(findWorkspace(workspaces, request)),
	);

	app.put(
		"/v1/workspaces/:ws",
		{
			config: {
				policy: "admin",
				operation: "putWorkspace",
				summary: "Declare a workspace, or replace what was declared",
			},
			schema: { params: workspaceParams, body: putWorkspace, response: { 200: workspace } },
		},
		async (request) => {
			const declared = await workspaces.put(request.params.ws, request.body);
			const { id, roots, limits } = declared;
			witnessOf(request).record({ action: "workspace-set", roots: roots.length, limits }, { workspace: id });
			return { ...workspaceMessage(declared), ...(await warningsFor(workspaces, id, roots)) };
		},
	);

	app.delete(
		"/v1/workspaces/:ws",
		{
			config: {
				policy: "admin",
				operation: "deleteWorkspace",
				summary: "Forget a workspace, its tasks, its sessions and its webhooks",
				answers: { 204: "" },
			},
			schema: { params: workspaceParams, querystring: removeWorkspaceQuery },
		},
		async (request, reply) => {
			const { id } = findWorkspace(workspaces, request);
			// First, so that it is there to be asked again while one of them can't be ended.
			await removeSessions(sessions, id, request, { isForced: request.query.force === "1" });
			// Before its limits and roots are gone, without which tokens for it must not be good.
			const ended = (await access?.leaveWorkspace(principalOf(request), id)) ?? [];
			for (const token of ended) witnessOf(request).record({ action: "token-revoked", token });
			const silenced = (await webhooks?.leaveWorkspace(id)) ?? [];
			for (const webhook of silenced)
				witnessOf(request).record({ action: "webhook-removed", webhook }, { workspace: id });
			await workspaces.remove(id);
			witnessOf(request).record({ action: "workspace-removed" }, { workspace: id });
			return reply.code(204).send();
		},
	);

	app.get(
		"/v1/workspaces/:ws/tasks",
		{
			config: { policy: "read", operation: "listTasks", summary: "List the tasks of a workspace" },
			schema: { params: workspaceParams, response: { 200: taskList } },
		},
		async (request) => {
			const { id } = findWorkspace(workspaces, request);
			return { tasks: workspaces.tasks(id).map((one) => taskMessage(one, request)) };
		},
	);

	app.get(
		"/v1/workspaces/:ws/tasks/:task",
		{
			config: { policy: "read", operation: "getTask", summary: "Look at a task" },
			schema: { params: taskParams, response: { 200: task } },
		},
		async (request) => {
			const { id } = findWorkspace(workspaces, request);
			const found = workspaces.task(id, request.params.task);
			if (!found) throw noTask(request.params.task);
			return taskMessage(found, request);
		},
	);

	app.put(
		"/v1/workspaces/:ws/tasks/:task",
		{
			config: { policy: "manage", operation: "putTask", summary: "Make a task, or replace it" },
			schema: { params: taskParams, body: putTask, response: { 200: task } },
		},
		async (request) => {
			const { id } = findWorkspace(workspaces, request);
			const made = await workspaces.putTask(id, request.params.task, request.body);
			witnessOf(request).record({ action: "task-set", task: made.id }, { workspace: id });
			return { ...taskMessage(made, request), ...(await warningsFor(workspaces, id, [made.workDir])) };
		},
	);

	app.delete(
		"/v1/workspaces/:ws/tasks/:task",
		{
			config: { policy: "manage", operation: "deleteTask", summary: "Forget a task", answers: { 204: "" } },
			schema: { params: taskParams },
		},
		async (request, reply) => {
			const { id } = findWorkspace(workspaces, request);
			const { task } = request.params;
			if (!(await workspaces.removeTask(id, task))) throw noTask(task);
			witnessOf(request).record({ action: "task-removed", task }, { workspace: id });
			return reply.code(204).send();
		},
	);
}

/** Why no program could be started there now. It is no reason to refuse: who declares a directory may make it later. */
async function warningsFor(
	workspaces: Workspaces,
	workspace: string,
	directories: readonly string[],
): Promise<{ warnings?: string[] }> {
	const looked = directories.map((directory) => workspaces.admit(workspace, directory).then(() => [], messageOf));
	const warnings = (await Promise.all(looked)).flat();
	return warnings.length > 0 ? { warnings } : {};
}

function messageOf(error: unknown): string[] {
	if (error instanceof SessionError) return [error.message];
	throw error;
}

/** The workspace that a request names, if its caller has the right that the route asks for. One that may not be seen is not there. */
function findWorkspace(workspaces: Workspaces, request: FastifyRequest<{ Params: { ws: string } }>): Workspace {
	const { ws } = request.params;
	const found = workspaces.get(ws);
	if (!found || !may(request, "read", { workspace: ws })) {
		throw new SessionError("not_found", `there is no workspace ${JSON.stringify(ws.slice(0, 64))}`, {
			hint: "sessions may name one that nobody has declared, but it has neither roots, limits nor tasks",
		});
	}
	if (request.routeOptions.config.policy === "manage") checkRight(request, "manage", { workspace: ws });
	return found;
}

function noTask(id: string): SessionError {
	return new SessionError("not_found", `there is no task ${JSON.stringify(id.slice(0, 64))} in this workspace`);
}

async function removeSessions(
	sessions: Sessions,
	workspace: string,
	request: FastifyRequest,
	{ isForced }: { readonly isForced: boolean },
): Promise<void> {
	const here = sessions.list().filter(({ spec }) => spec.workspace === workspace);
	const running = here.filter(({ state }) => !isEnded(state)).length;
	if (running > 0 && !isForced) {
		throw new SessionError("session_exists", `workspace "${workspace}" has sessions that run (${running})`, {
			hint: "end them first, or ask with force=1, which ends them",
		});
	}
	const by = request.principal?.name;
	await Promise.all(here.map((session) => witnessOf(request).remove(sessions, session, { by })));
}

function workspaceMessage({ id, name, roots, limits, createdAt }: Workspace): WorkspaceMessage {
	return { id, name, roots: [...roots], limits: { ...limits }, createdAt };
}

/** With its variables only for who could start a program that tells them: they may be secrets. */
function taskMessage({ env, ...rest }: Task, request: FastifyRequest): TaskMessage {
	const isShown = request.principal?.may("manage", { workspace: rest.workspace }) === true;
	return { ...rest, ...(isShown ? { env: { ...env } } : {}) };
}
