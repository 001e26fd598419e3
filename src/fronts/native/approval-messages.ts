/** What is held until somebody approves it, as the API tells it, and how it is decided. */

import Type, { type TUnsafe } from "typebox";
import type { ApprovalList, ApprovalMessage, DecideApproval } from "../../protocol/asking.ts";
import { limits } from "../../protocol/messages.ts";
import { PRINTABLE } from "../../protocol/printable.ts";
import { closed, milliseconds, nullable, offset, schemaOf } from "./schemas.ts";

export const approval: TUnsafe<ApprovalMessage> = schemaOf<ApprovalMessage>()(
	Type.Object(
		{
			id: Type.String(),
			session: Type.Object({ id: Type.String(), name: nullable(Type.String()), workspace: Type.String() }),
			by: Type.Object({ id: Type.String(), name: Type.String() }),
			kind: Type.Union([
				Type.Literal("start"),
				Type.Literal("run"),
				Type.Literal("input"),
				Type.Literal("signal"),
				Type.Literal("stop"),
				Type.Literal("delete"),
			]),
			reason: Type.Union([Type.Literal("match"), Type.Literal("unreadable"), Type.Literal("always")]),
			preview: Type.String(),
			sha256: Type.String(),
			offset: nullable(offset),
			fence: nullable(Type.Integer()),
			askedAt: milliseconds,
			expiresAt: milliseconds,
			state: Type.Union([
				Type.Literal("asked"),
				Type.Literal("granted"),
				Type.Literal("denied"),
				Type.Literal("expired"),
				Type.Literal("withdrawn"),
			]),
			endedAt: Type.Optional(milliseconds),
			decidedBy: Type.Optional(Type.String()),
			note: Type.Optional(Type.String()),
		},
		{ title: "Approval" },
	),
);

export const approvalList: TUnsafe<ApprovalList> = schemaOf<ApprovalList>()(
	Type.Object({ approvals: Type.Array(approval) }, { title: "ApprovalList" }),
);

export const decideApproval: TUnsafe<DecideApproval> = schemaOf<DecideApproval>()(
	Type.Object(
		{
			decision: Type.Union([Type.Literal("grant"), Type.Literal("deny")]),
			note: Type.Optional(Type.String({ maxLength: limits.noteLength, pattern: PRINTABLE, description: "printable" })),
			evenIfChanged: Type.Optional(Type.Boolean()),
		},
		{ ...closed, title: "DecideApproval", examples: [{ decision: "deny", note: "not on this machine" }] },
	),
);

export type ApprovalParams = { id: string };
export const approvalParams: TUnsafe<ApprovalParams> = schemaOf<ApprovalParams>()(Type.Object({ id: Type.String() }));
