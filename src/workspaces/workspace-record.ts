/** The file of a workspace and its tasks, replaced as a whole. People may read and edit it. */

import { SessionError } from "../core/errors.ts";
import type { Task, Workspace, WorkspaceLimits } from "../core/session/workspaces.ts";
import { idPattern } from "../words/ids.ts";

/** The first version had no sandbox, and its servers would ignore one. So a file with a sandbox has version 2. */
const VERSIONS = { first: 1, withSandbox: 2 } as const;

export type StoredWorkspace = {
	readonly workspace: Workspace;
	/** In order of creation. */
	readonly tasks: ReadonlyMap<string, Task>;
};

export function toRecord({ workspace, tasks }: StoredWorkspace): object {
	return {
		version: workspace.sandbox === null ? VERSIONS.first : VERSIONS.withSandbox,
		...workspace,
		tasks: [...tasks.values()].map(({ workspace: _, ...task }) => task),
	};
}

/** Refuses an invalid file: continuing without it would drop roots, limits and the sandbox. */
export function parseRecord(value: unknown, id: string, path: string): StoredWorkspace {
	const version = isObject(value) ? value.version : undefined;
	if (typeof version === "number" && version > VERSIONS.withSandbox) {
		throw new SessionError("unsupported", `${path} was written by a newer version (${version})`, {
			hint: "start the newer server again; nothing was changed",
		});
	}
	if (!isObject(value) || (version !== VERSIONS.first && version !== VERSIONS.withSandbox))
		throw foreign(path, "version");
	const { name, roots, limits, sandbox = null, createdAt, tasks } = value;
	const check = (isGood: boolean, what: string) => {
		if (!isGood) throw foreign(path, what);
	};
	check(value.id === id && isId(id), "id");
	check(isTextOrNull(name), "name");
	check(isTime(createdAt), "createdAt");
	check(Array.isArray(roots) && roots.every(isDirectory), "roots");
	check(isLimits(limits), "limits");
	check(sandbox === null || isRequiredSandbox(sandbox), "sandbox");
	check(Array.isArray(tasks) && tasks.every(isTask), "tasks");
	const kept = (tasks as readonly Omit<Task, "workspace">[]).map((task) => ({ ...task, owner: task.owner ?? null }));
	check(new Set(kept.map((task) => task.id)).size === kept.length, "tasks");
	const workspace = { id, name, roots, limits, sandbox, createdAt } as Workspace;
	return { workspace, tasks: new Map(kept.map((task) => [task.id, { ...task, workspace: id }])) };
}

function foreign(path: string, what: string): SessionError {
	return new SessionError("unsupported", `${path} is damaged: invalid "${what}"`, {
		hint: "repair it, or move it away to start without this workspace, its roots, limits and sandbox",
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

/** Unknown names are refused: a misspelled limit would limit nothing. */
function isLimits(value: unknown): value is WorkspaceLimits {
	return (
		isObject(value) && Object.entries(value).every(([name, one]) => Object.hasOwn(limitNames, name) && isAmount(one))
	);
}

const isOptional = (isGood: (value: unknown) => boolean) => (value: unknown) => value === undefined || isGood(value);
const isPaths = (value: unknown): boolean => Array.isArray(value) && value.every(isDirectory);

const confinement = {
	networkAccess: isOptional((value) => typeof value === "boolean"),
	limits: isOptional(isSandboxLimits),
};

/** Allowed members of each policy. */
const policyMembers: Readonly<Record<string, Readonly<Record<string, (value: unknown) => boolean>>>> = {
	readOnly: confinement,
	workspaceWrite: {
		...confinement,
		writableRoots: isPaths,
		excludeTmpdirEnvVar: (value) => value === true,
		excludeSlashTmp: isOptional((value) => typeof value === "boolean"),
	},
	paths: { ...confinement, paths: (value) => Array.isArray(value) && value.every(isSandboxPath) },
};

/** Unknown members are refused: a misspelled one would confine nothing. */
function isRequiredSandbox(value: unknown): boolean {
	if (!isObject(value)) return false;
	const { type, ...members } = value;
	const known = isText(type) && Object.hasOwn(policyMembers, type) ? policyMembers[type] : undefined;
	if (known === undefined || !Object.keys(members).every((name) => Object.hasOwn(known, name))) return false;
	return Object.entries(known).every(([name, isGood]) => isGood(members[name]));
}

function isSandboxPath(value: unknown): boolean {
	if (!isObject(value) || Object.keys(value).some((name) => name !== "path" && name !== "access")) return false;
	return isDirectory(value.path) && ["read", "write", "none"].includes(String(value.access));
}

function isSandboxLimits(value: unknown): boolean {
	const names = ["cpuSeconds", "memoryBytes", "processes", "fileBytes"];
	return isObject(value) && Object.entries(value).every(([name, one]) => names.includes(name) && isAmount(one));
}

function isTask(value: unknown): value is Omit<Task, "workspace"> {
	if (!isObject(value)) return false;
	const { id, workDir, issueId, issueKey, priorSessionId, env, owner = null, createdAt } = value;
	if (!isId(id) || !isDirectory(workDir) || !isTime(createdAt)) return false;
	if (![issueId, issueKey, priorSessionId, owner].every(isTextOrNull)) return false;
	return isObject(env) && Object.values(env).every(isText);
}
