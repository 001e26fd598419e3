/** What a caller is told of itself, and the schema that describes it. */

import Type, { type TUnsafe } from "typebox";
import type { Me } from "../../protocol/messages.ts";
import { bytes, milliseconds, nullable, schemaOf } from "./schemas.ts";

const right = Type.Union([Type.Literal("read"), Type.Literal("operate"), Type.Literal("manage")]);
const guestRight = Type.Union([Type.Literal("view"), Type.Literal("control")]);

export const me: TUnsafe<Me> = schemaOf<Me>()(
	Type.Object(
		{
			id: Type.String(),
			name: Type.String(),
			admin: Type.Boolean(),
			scopes: Type.Array(Type.String()),
			expiresAt: nullable(milliseconds),
			workspaces: Type.Array(Type.Object({ id: Type.String(), right })),
			guest: nullable(Type.Object({ session: Type.String(), right: guestRight })),
			server: Type.Object({ name: Type.String(), version: Type.String() }),
			limits: Type.Object({
				sessions: Type.Integer(),
				workspaceSessions: Type.Integer(),
				journalBytes: bytes,
				startsPerSecond: Type.Integer(),
				retain: Type.Object({ memoryBytes: bytes, journalBytes: bytes }),
			}),
		},
		{ title: "Me" },
	),
);
