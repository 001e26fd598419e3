/** A workspace and its tasks as they stand on disk: one file, written whole, that a person can read and change. */

import { SessionError } from "../core/errors.ts";
import { idPattern, type Task, type Workspace, type WorkspaceLimits } from "../core/workspaces.ts";

const VERSION = 1;

export type Kept = {
	readonly workspace: Workspace;
	/** In the order in which they were made. */
	readonly tasks: ReadonlyMap<string, Task>;
};

export function toRecord({ workspace, tasks }: Kept): object {
	return {
		version: VERSION,
		...workspace,
		tasks: [...tasks.values()].map(({ workspace: _, ...task }) => task),
	};
}

/** Refuses what it does not understand: to go on without it would be to go on without roots and limits. */
export function parseRecord(value: unknown, id: string, path: string): Kept {
	const version = isObject(value) ? value.version : undefined;
	if (typeof version === "number" && version > VERSION) {
		throw new SessionError("unsupported", `${path} was written by a newer version (${version})`, {
			hint: "start the newer server again; nothing was changed",
		});
	}
	if (!isObject(value) || version !== VERSION) throw foreign(path, "version");
	const { name, roots, limits, createdAt, tasks } = value;
	const check = (isGood: boolean, what: string) => {
		if (!isGood) throw foreign(path, what);
	};
	check(value.id === id && isId(id), "id");
	check(isTextOrNull(name), "name");
	check(isTime(createdAt), "createdAt");
	check(Array.isArray(roots) && roots.every(isDirectory), "roots");
	check(isLimits(limits), "limits");
	check(Array.isArray(tasks) && tasks.every(isTask), "tasks");
	const kept = tasks as readonly Omit<Task, "workspace">[];
	check(new Set(kept.map((task) => task.id)).size === kept.length, "tasks");
	const workspace = { id, name, roots, limits, createdAt } as Workspace;
	return { workspace, tasks: new Map(kept.map((task) => [task.id, { ...task, workspace: id }])) };
}

function foreign(path: string, what: string): SessionError {
	return new SessionError("unsupported", `${path} is not what this server wrote: its "${what}" makes no sense`, {
		hint: "put that right, or move the file away to start without this workspace, its roots and its limits",
	});
}

export function isId(value: unknown): boolean {
	return isText(value) && new RegExp(idPattern).test(value);
}

export function isDirectory(value: unknown): boolean {
	return isText(value) && value.startsWith("/") && !value.includes("\0");
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

const isText = (value: unknown): value is string => typeof value === "string";
const isTextOrNull = (value: unknown): boolean => value === null || isText(value);
const isTime = (value: unknown): boolean => Number.isSafeInteger(value);
const isAmount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) > 0;

const limitNames: Readonly<Record<keyof WorkspaceLimits, true>> = {
	sessions: true,
	journalBytes: true,
	startsPerSecond: true,
};

/** A misspelt limit is refused as well: it would limit nothing. */
function isLimits(value: unknown): value is WorkspaceLimits {
	return (
		isObject(value) && Object.entries(value).every(([name, one]) => Object.hasOwn(limitNames, name) && isAmount(one))
	);
}

function isTask(value: unknown): value is Omit<Task, "workspace"> {
	if (!isObject(value)) return false;
	const { id, workDir, issueId, issueKey, priorSessionId, env, createdAt } = value;
	if (!isId(id) || !isDirectory(workDir) || !isTime(createdAt)) return false;
	if (![issueId, issueKey, priorSessionId].every(isTextOrNull)) return false;
	return isObject(env) && Object.values(env).every(isText);
}
