/** Finds the task of a terminal among the tasks that the caller may see. */

import type { Principal } from "../../../core/policy/access.ts";
import type { Task, Workspaces } from "../../../core/session/workspaces.ts";
import { TerminalError } from "./errors.ts";

/** The newest task of an issue, given by id or by a key such as `MUL-2295`. */
export function taskOfIssue(workspaces: Workspaces, workspace: string, issue: string): Task {
	const tasks = workspaces.tasks(workspace);
	const id = uuidOf(issue) ?? issue;
	// The id first: the last digits of a UUID could look like the number of a key.
	const task =
		tasks.find(({ issueId }) => issueId !== null && (uuidOf(issueId) ?? issueId) === id) ??
		tasks.find(({ issueKey }) => issueKey === issue);
	if (task) return task;
	throw new TerminalError(
		"task_not_found",
		`issue ${quoted(issue)} has no task with a work directory in this workspace`,
	);
}

/**
 * A task by id. The workspace named by the caller must match. Tasks that the caller may not see count as absent, so a
 * mismatch reveals nothing about them.
 */
export function namedTask(
	workspaces: Workspaces,
	{ task_id: id, workspace_id: named }: { readonly task_id: string; readonly workspace_id: string },
	principal: Principal,
): Task {
	const seen = (workspace: string) =>
		principal.may("read", { workspace }) ? workspaces.task(workspace, id) : undefined;
	const task = seen(named);
	if (task) return task;
	if (workspaces.list().some((workspace) => seen(workspace.id) !== undefined)) {
		throw new TerminalError("workspace_mismatch", `task ${quoted(id)} is not in workspace ${quoted(named)}`);
	}
	throw new TerminalError("task_not_found", `there is no task ${quoted(id)}`);
}

/** Normalizes a UUID to dashes and lower case; undefined for anything else. */
export function uuidOf(text: string): string | undefined {
	const [, ...parts] =
		/^([0-9a-f]{8})(-?)([0-9a-f]{4})\2([0-9a-f]{4})\2([0-9a-f]{4})\2([0-9a-f]{12})$/i.exec(text) ?? [];
	if (parts.length === 0) return undefined;
	parts.splice(1, 1);
	return parts.join("-").toLowerCase();
}

function quoted(text: string): string {
	return JSON.stringify(text.slice(0, 64));
}
