/** What the native API says about workspaces and tasks, and the schemas that check it. */

import Type, { type TUnsafe } from "typebox";
import { limits } from "../../protocol/messages.ts";
import { PRINTABLE } from "../../protocol/printable.ts";
import type {
	PutTask,
	PutWorkspace,
	TaskList,
	TaskMessage,
	WorkspaceList,
	WorkspaceMessage,
} from "../../protocol/workspaces.ts";
import { closed, displayName, id, NO_NUL, nullable, path, schemaOf } from "./schemas.ts";

const amount = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });
const time = Type.Integer({ minimum: 0 });
const warnings = Type.Optional(Type.Array(Type.String()));
const reference = Type.String({ minLength: 1, maxLength: limits.labelLength, pattern: PRINTABLE });
const workspaceLimits = Type.Object(
	{
		sessions: Type.Optional(amount),
		journalBytes: Type.Optional(amount),
		startsPerSecond: Type.Optional(amount),
	},
	{ ...closed, title: "WorkspaceLimits" },
);

export const putWorkspace: TUnsafe<PutWorkspace> = schemaOf<PutWorkspace>()(
	Type.Object(
		{
			name: Type.Optional(displayName),
			roots: Type.Array(path, { maxItems: limits.roots }),
			limits: Type.Optional(workspaceLimits),
		},
		{ ...closed, title: "PutWorkspace" },
	),
);

export const workspace: TUnsafe<WorkspaceMessage> = schemaOf<WorkspaceMessage>()(
	Type.Object(
		{
			id: Type.String(),
			name: nullable(Type.String()),
			roots: Type.Array(Type.String()),
			limits: workspaceLimits,
			createdAt: time,
			warnings,
		},
		{ title: "Workspace" },
	),
);

export const workspaceList: TUnsafe<WorkspaceList> = schemaOf<WorkspaceList>()(
	Type.Object({ workspaces: Type.Array(workspace) }, { title: "WorkspaceList" }),
);

export const putTask: TUnsafe<PutTask> = schemaOf<PutTask>()(
	Type.Object(
		{
			workDir: path,
			issueId: Type.Optional(reference),
			issueKey: Type.Optional(reference),
			priorSessionId: Type.Optional(reference),
			env: Type.Optional(
				Type.Record(Type.String({ pattern: "^[^=\\u0000]+$" }), Type.String({ pattern: NO_NUL }), closed),
			),
		},
		{ ...closed, title: "PutTask" },
	),
);

export const task: TUnsafe<TaskMessage> = schemaOf<TaskMessage>()(
	Type.Object(
		{
			id: Type.String(),
			workspace: Type.String(),
			workDir: Type.String(),
			issueId: nullable(Type.String()),
			issueKey: nullable(Type.String()),
			priorSessionId: nullable(Type.String()),
			env: Type.Optional(Type.Record(Type.String(), Type.String())),
			createdAt: time,
			warnings,
		},
		{ title: "Task" },
	),
);

export const taskList: TUnsafe<TaskList> = schemaOf<TaskList>()(
	Type.Object({ tasks: Type.Array(task) }, { title: "TaskList" }),
);

export type WorkspaceParams = { ws: string };
export const workspaceParams: TUnsafe<WorkspaceParams> = schemaOf<WorkspaceParams>()(Type.Object({ ws: id }));

export type TaskParams = { ws: string; task: string };
export const taskParams: TUnsafe<TaskParams> = schemaOf<TaskParams>()(Type.Object({ ws: id, task: id }));

export type RemoveWorkspaceQuery = { force?: "0" | "1" };
export const removeWorkspaceQuery: TUnsafe<RemoveWorkspaceQuery> = schemaOf<RemoveWorkspaceQuery>()(
	Type.Object({ force: Type.Optional(Type.Union([Type.Literal("0"), Type.Literal("1")])) }, closed),
);
