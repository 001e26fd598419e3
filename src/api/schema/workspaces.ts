/** Workspaces and tasks. */

import { PRINTABLE } from "../../words/printable.ts";
import { limits } from "../messages.ts";
import * as s from "./fields.ts";
import type { OperationTable } from "./operation.ts";
import { requiredSandbox } from "./sandbox.ts";

const amount = s.integer(1);
const reference = s.optional(s.string({ minLength: 1, maxLength: limits.labelLength, pattern: PRINTABLE }));
const workspaceLimits = s.request(
	"WorkspaceLimits",
	"Limits of all sessions of a workspace together. Those left out are the server's.",
	{
		sessions: s.optional(s.doc("Running sessions.", amount)),
		journalBytes: s.optional(s.doc("Bytes of all journals.", amount)),
		startsPerSecond: s.optional(amount),
	},
);

const putWorkspace = s.request("PutWorkspace", "A workspace to declare. It replaces an existing one.", {
	name: s.optional(s.displayName),
	roots: s.doc(
		"Programs start in one of these directories or below; an empty list means anywhere.",
		s.list(s.path, { maxItems: limits.roots }),
	),
	limits: s.optional(
		s.doc(
			"`sessions` (running ones), `journalBytes` (all journals) and `startsPerSecond` (on average; five seconds' worth at once). By default the server's.",
			workspaceLimits,
		),
	),
	sandbox: s.optional(
		s.doc(
			"Every program runs in this sandbox, or in a stricter one. For `workspaceWrite` the writable roots are the roots by default. None by default.",
			requiredSandbox,
		),
	),
});
const workspace = s.message("WorkspaceMessage", "A workspace.", {
	id: s.text,
	name: s.nullable(s.text),
	roots: s.list(s.text),
	limits: workspaceLimits,
	sandbox: s.doc("Null if none is required.", s.nullable(requiredSandbox)),
	createdAt: s.milliseconds,
	warnings: s.optional(
		s.doc(
			"Only in the answer to its declaration: roots in which no program can be started now, and running programs without the new sandbox.",
			s.list(s.text),
		),
	),
});

const putTask = s.request("PutTask", "A task to create. It replaces an existing one.", {
	workDir: s.path,
	issueId: reference,
	issueKey: s.doc("The key by which users know the issue.", reference),
	priorSessionId: s.doc("The session of the agent that worked on it before.", reference),
	env: s.optional(s.record(s.string({ pattern: s.NO_NUL }), { name: "^[^=\\u0000]+$" })),
});
const task = s.message("TaskMessage", "A task.", {
	id: s.text,
	workspace: s.text,
	workDir: s.text,
	issueId: s.nullable(s.text),
	issueKey: s.nullable(s.text),
	priorSessionId: s.nullable(s.text),
	env: s.optional(s.doc("Only for callers that may manage the workspace.", s.record(s.text))),
	createdAt: s.milliseconds,
	warnings: s.optional(
		s.doc("Only in the answer to its creation: why no program can be started for it now.", s.list(s.text)),
	),
});

const workspacePath = { params: { ws: s.id } };
const taskPath = { params: { ws: s.id, task: s.id } };

export const workspaceOperations: OperationTable = {
	listWorkspaces: {
		summary: "List workspaces",
		route: "GET /v1/workspaces",
		right: "read",
		answer: s.message("WorkspaceList", "The workspaces that the caller may read, by id.", {
			workspaces: s.list(workspace),
		}),
	},
	getWorkspace: {
		...workspacePath,
		summary: "Describe a workspace",
		route: "GET /v1/workspaces/:ws",
		right: "read",
		answer: workspace,
	},
	putWorkspace: {
		...workspacePath,
		summary: "Declare a workspace, or replace it",
		route: "PUT /v1/workspaces/:ws",
		right: "admin",
		body: putWorkspace,
		answer: workspace,
	},
	deleteWorkspace: {
		...workspacePath,
		summary: "Remove a workspace, its tasks, its sessions and its webhooks",
		route: "DELETE /v1/workspaces/:ws",
		right: "admin",
		query: { force: s.doc("End its running sessions.", s.flag) },
	},
	listTasks: {
		...workspacePath,
		summary: "List the tasks of a workspace",
		route: "GET /v1/workspaces/:ws/tasks",
		right: "read",
		answer: s.message("TaskList", "Tasks, newest first.", { tasks: s.list(task) }),
	},
	getTask: {
		...taskPath,
		summary: "Describe a task",
		route: "GET /v1/workspaces/:ws/tasks/:task",
		right: "read",
		answer: task,
	},
	putTask: {
		...taskPath,
		summary: "Create a task, or replace it",
		route: "PUT /v1/workspaces/:ws/tasks/:task",
		right: "manage",
		body: putTask,
		answer: task,
	},
	deleteTask: {
		...taskPath,
		summary: "Remove a task",
		route: "DELETE /v1/workspaces/:ws/tasks/:task",
		right: "manage",
	},
};
