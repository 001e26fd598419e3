/** Workspaces and tasks. */

import { PRINTABLE } from "../../words/printable.ts";
import { limits } from "../messages.ts";
import {
	displayName,
	doc,
	flag,
	id,
	integer,
	list,
	message,
	milliseconds,
	NO_NUL,
	nullable,
	optional,
	path,
	record,
	request,
	string,
	text,
} from "./fields.ts";
import type { OperationTable } from "./operation.ts";
import { requiredSandbox } from "./sandbox.ts";

const amount = integer(1);
const reference = optional(string({ minLength: 1, maxLength: limits.labelLength, pattern: PRINTABLE }));
const workspaceLimits = request(
	"WorkspaceLimits",
	"Limits of all sessions of a workspace together. Those left out are the server's.",
	{
		sessions: optional(doc("Running sessions.", amount)),
		journalBytes: optional(doc("Bytes of all journals.", amount)),
		startsPerSecond: optional(amount),
	},
);

const putWorkspace = request("PutWorkspace", "A workspace to declare. It replaces an existing one.", {
	name: optional(displayName),
	roots: doc(
		"Programs start in one of these directories or below; an empty list means anywhere.",
		list(path, { maxItems: limits.roots }),
	),
	limits: optional(
		doc(
			"`sessions` (running ones), `journalBytes` (all journals) and `startsPerSecond` (on average; five seconds' worth at once). By default the server's.",
			workspaceLimits,
		),
	),
	sandbox: optional(
		doc(
			"Every program runs in this sandbox, or in a stricter one. For `workspaceWrite` the writable roots are the roots by default. None by default.",
			requiredSandbox,
		),
	),
});
const workspace = message("WorkspaceMessage", "A workspace.", {
	id: text,
	name: nullable(text),
	roots: list(text),
	limits: workspaceLimits,
	sandbox: doc("Null if none is required.", nullable(requiredSandbox)),
	createdAt: milliseconds,
	warnings: optional(
		doc(
			"Only in the answer to its declaration: roots in which no program can be started now, and running programs without the new sandbox.",
			list(text),
		),
	),
});

const putTask = request("PutTask", "A task to create. It replaces an existing one.", {
	workDir: path,
	issueId: reference,
	issueKey: doc("The key by which users know the issue.", reference),
	priorSessionId: doc("The session of the agent that worked on it before.", reference),
	env: optional(record(string({ pattern: NO_NUL }), { name: "^[^=\\u0000]+$" })),
});
const task = message("TaskMessage", "A task.", {
	id: text,
	workspace: text,
	workDir: text,
	issueId: nullable(text),
	issueKey: nullable(text),
	priorSessionId: nullable(text),
	env: optional(doc("Only for callers that may manage the workspace.", record(text))),
	createdAt: milliseconds,
	warnings: optional(doc("Only in the answer to its creation: why no program can be started for it now.", list(text))),
});

const workspacePath = { params: { ws: id } };
const taskPath = { params: { ws: id, task: id } };

export const workspaceOperations: OperationTable = {
	listWorkspaces: {
		summary: "List workspaces",
		route: "GET /v1/workspaces",
		right: "read",
		answer: message("WorkspaceList", "The workspaces that the caller may read, by id.", {
			workspaces: list(workspace),
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
		query: { force: doc("End its running sessions.", flag) },
	},
	listTasks: {
		...workspacePath,
		summary: "List the tasks of a workspace",
		route: "GET /v1/workspaces/:ws/tasks",
		right: "read",
		answer: message("TaskList", "Tasks, newest first.", { tasks: list(task) }),
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
