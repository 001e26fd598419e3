/** Workspaces and their tasks over HTTP. */

import { isDeepStrictEqual } from "node:util";
import type { RequiredSandbox, TaskMessage, WorkspaceMessage } from "../../api/types.ts";
import { valueWithin } from "../../core/async/deadline.ts";
import { SessionError } from "../../core/errors.ts";
import { isEnded } from "../../core/log/session-state.ts";
import { checkMayChange, grantorOf, type Principal } from "../../core/policy/access.ts";
import type { PlannedStart } from "../../core/policy/planned-start.ts";
import type { Session } from "../../core/session/session.ts";
import type { Sessions } from "../../core/session/session-registry.ts";
import type { Owner, Task, TaskRequest, Workspace, Workspaces } from "../../core/session/workspaces.ts";
import { checkRight, hasRight } from "../../http/caller.ts";
import type { NativeOptions } from "./options.ts";
import type { Call, Serve } from "./serve.ts";

/** Longest wait for the report that the last process of a session is gone. */
const GONE_MS = 500;

export function addWorkspaces(serve: Serve, { workspaces, sessions, access, webhooks }: NativeOptions): void {
	serve("listWorkspaces", async ({ caller }) => ({
		workspaces: workspaces
			.list()
			.filter(({ id }) => caller.may("read", { workspace: id }))
			.map(workspaceMessage),
	}));

	serve("getWorkspace", async (call) => workspaceMessage(findWorkspace(workspaces, call)));

	serve("putWorkspace", async ({ caller, params: { ws }, body, witness }) => {
		checkMayDeclare(caller);
		const former = workspaces.get(ws)?.sandbox ?? null;
		const declared = await workspaces.put(ws, body);
		const { id, roots, limits, sandbox } = declared;
		const deed = { action: "workspace-set", roots: roots.length, limits, sandbox: sandbox?.type ?? null } as const;
		witness.record(deed, { workspace: id });
		const isNew = sandbox !== null && !isDeepStrictEqual(sandbox, former);
		const warnings = [...(isNew ? runningIn(sessions, id) : []), ...(await warningsFor(workspaces, id, roots))];
		return { ...workspaceMessage(declared), ...(warnings.length > 0 ? { warnings } : {}) };
	});

	serve("deleteWorkspace", async (call) => {
		const { caller, query, witness } = call;
		const { id } = findWorkspace(workspaces, call);
		checkMayDeclare(caller);
		// First: if one can't be removed, the workspace still exists and the request can be repeated.
		await removeSessions(sessions, id, call, { isForced: query.force === "1" });
		// While the workspace still has its limits and roots: its tokens must not be valid without them.
		const ended = (await access?.leaveWorkspace(grantorOf(caller), id)) ?? [];
		for (const token of ended) witness.record({ action: "token-revoked", token });
		const silenced = (await webhooks?.leaveWorkspace(id)) ?? [];
		for (const webhook of silenced) witness.record({ action: "webhook-removed", webhook }, { workspace: id });
		await workspaces.remove(id);
		witness.record({ action: "workspace-removed" }, { workspace: id });
	});

	serve("listTasks", async (call) => {
		const { id } = findWorkspace(workspaces, call);
		return { tasks: workspaces.tasks(id).map((one) => taskMessage(one, call.caller)) };
	});

	serve("getTask", async (call) => {
		const { id } = findWorkspace(workspaces, call);
		const { task } = call.params;
		const found = workspaces.task(id, task);
		if (!found) throw noTask(task);
		return taskMessage(found, call.caller);
	});

	serve("putTask", async (call) => {
		const { caller, body, witness } = call;
		const { id } = findWorkspace(workspaces, call, "manage");
		const { task } = call.params;
		const owner = ownerFor(caller);
		// Before the approval is requested, and again when the task is written.
		owner.check(workspaces.task(id, task)?.owner ?? owner.id);
		await witness.checkStore(storedTask(id, task, body));
		const made = await workspaces.putTask(id, task, body, owner);
		witness.record({ action: "task-set", task: made.id }, { workspace: id });
		const warnings = await warningsFor(workspaces, id, [made.workDir]);
		return { ...taskMessage(made, caller), ...(warnings.length > 0 ? { warnings } : {}) };
	});

	serve("deleteTask", async (call) => {
		const { id } = findWorkspace(workspaces, call, "manage");
		const { task } = call.params;
		if (!(await workspaces.removeTask(id, task, ownerFor(call.caller)))) throw noTask(task);
		call.witness.record({ action: "task-removed", task }, { workspace: id });
	});
}

type WorkspaceCall = Pick<Call<"getWorkspace">, "params" | "request">;

/**
 * A workspace affects other callers: its roots limit their starts, and their tokens, tasks and webhooks end with it.
 */
function checkMayDeclare({ gate }: Principal): void {
	if (gate === null) return;
	throw new SessionError("permission_denied", "a token with a gate may not declare or delete workspaces", {
		hint: "use a token without a gate",
	});
}

function ownerFor(by: Principal): Owner {
	return { id: by.id, check: (owner) => checkMayChange(by, owner, "a task") };
}

/** A task as an approval shows it: sessions of every caller can start with its variables, in its directory. */
function storedTask(workspace: string, id: string, { workDir, env = {} }: TaskRequest): PlannedStart {
	return {
		place: { id: `task:${id}`, name: null, workspace },
		program: { argv: [], cwd: workDir, env },
		script: "",
		usual: { cwd: "", env: {} },
	};
}

/** Why no program can be started in these directories now. Not an error: a directory may be created later. */
async function warningsFor(
	workspaces: Workspaces,
	workspace: string,
	directories: readonly string[],
): Promise<string[]> {
	const looked = directories.map((directory) =>
		workspaces.resolveDirectory(workspace, directory).then(() => [], messageOf),
	);
	return (await Promise.all(looked)).flat();
}

/** Running programs keep their sandbox. */
function runningIn(sessions: Sessions, workspace: string): string[] {
	const running = sessions.list().filter(({ spec, state }) => spec.workspace === workspace && !isEnded(state)).length;
	if (running === 0) return [];
	const are = running === 1 ? "running session stays" : "running sessions stay";
	return [`${running} ${are} under the former sandbox setting`];
}

function messageOf(error: unknown): string[] {
	if (error instanceof SessionError) return [error.message];
	throw error;
}

/** Finds the workspace of a request. A caller that may not read it gets the same error as for one that does not exist. */
function findWorkspace(
	workspaces: Workspaces,
	{ params: { ws }, request }: WorkspaceCall,
	right?: "manage",
): Workspace {
	const found = workspaces.get(ws);
	if (!found || !hasRight(request, "read", { workspace: ws })) {
		throw new SessionError("not_found", `there is no workspace ${JSON.stringify(ws.slice(0, 64))}`, {
			hint: "sessions may use an undeclared workspace, but it has no roots, limits or tasks",
		});
	}
	if (right) checkRight(request, right, { workspace: ws });
	return found;
}

function noTask(id: string): SessionError {
	return new SessionError("not_found", `there is no task ${JSON.stringify(id.slice(0, 64))} in this workspace`);
}

async function removeSessions(
	sessions: Sessions,
	workspace: string,
	{ caller, witness }: Pick<Call<"deleteWorkspace">, "caller" | "witness">,
	{ isForced }: { readonly isForced: boolean },
): Promise<void> {
	const here = sessions.list().filter(({ spec }) => spec.workspace === workspace);
	if (!isForced) await checkNothingRuns(workspace, here);
	await Promise.all(here.map((session) => witness.remove(sessions, session, { by: caller.name })));
}

/** Processes that ended sessions left behind count as well: only a forced removal ends them. */
async function checkNothingRuns(workspace: string, here: readonly Session[]): Promise<void> {
	const running = here.filter(({ state }) => !isEnded(state));
	const ended = here.filter(({ state }) => isEnded(state));
	const gone = await Promise.all(
		ended.map((one) =>
			valueWithin(
				one.gone.then(() => true),
				{ ms: GONE_MS },
			),
		),
	);
	const lingering = gone.filter((isGone) => !isGone);
	const reasons = [
		...(running.length > 0 ? [`sessions that run (${running.length})`] : []),
		...(lingering.length > 0 ? [`ended sessions that left processes running (${lingering.length})`] : []),
	];
	if (reasons.length === 0) return;
	throw new SessionError("session_exists", `workspace "${workspace}" has ${reasons.join(" and ")}`, {
		hint: "end them first, or use force=1, which ends them",
	});
}

function workspaceMessage({ id, name, roots, limits, sandbox, createdAt }: Workspace): WorkspaceMessage {
	// Checked when it was declared, or when its file was read.
	const required = sandbox as RequiredSandbox | null;
	return { id, name, roots, limits, sandbox: required, createdAt };
}

/** Variables may be secrets, so only callers that can start programs with them see them. */
function taskMessage({ env, owner: _, ...rest }: Task, caller: Principal): TaskMessage {
	return { ...rest, ...(caller.may("manage", { workspace: rest.workspace }) ? { env } : {}) };
}
