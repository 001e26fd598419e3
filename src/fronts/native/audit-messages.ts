/** How the audit is asked for, and what it says. */

import Type, { type TUnsafe } from "typebox";
import { type AuditList, limits } from "../../protocol/messages.ts";
import { closed, milliseconds, nullable, offset, schemaOf } from "./schemas.ts";

export type AuditQuery = { after?: number; limit?: number; session?: string; principal?: string; action?: string };
export const auditQuery: TUnsafe<AuditQuery> = schemaOf<AuditQuery>()(
	Type.Object(
		{
			after: Type.Optional(offset),
			limit: Type.Optional(Type.Integer({ minimum: 1, maximum: limits.maxListed })),
			session: Type.Optional(Type.String()),
			principal: Type.Optional(Type.String()),
			action: Type.Optional(Type.String()),
		},
		closed,
	),
);

const auditLine = Type.Object(
	{
		seq: offset,
		time: milliseconds,
		action: Type.String(),
		by: Type.Optional(
			nullable(
				Type.Object({
					id: nullable(Type.String()),
					name: nullable(Type.String()),
					from: Type.String(),
					front: Type.String(),
				}),
			),
		),
		session: Type.Optional(Type.String()),
		workspace: Type.Optional(Type.String()),
		prev: Type.String(),
		hash: Type.String(),
	},
	{ title: "AuditEntry" },
);

/** Each kind of entry has members of its own besides. */
export const auditList: TUnsafe<AuditList> = Type.Unsafe<AuditList>(
	Type.Object(
		{
			entries: Type.Array(auditLine),
			next: nullable(offset),
			head: Type.Object({ seq: offset, hash: Type.String() }),
		},
		{ title: "AuditList" },
	),
);
