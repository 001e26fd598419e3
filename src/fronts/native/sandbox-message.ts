/** What a request to start a program may say about its sandbox. */

import Type, { type TUnsafe } from "typebox";
import { limits, type SandboxMessage } from "../../protocol/messages.ts";
import { closed, path, schemaOf } from "./schemas.ts";

const amount = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });
const confinement = {
	networkAccess: Type.Optional(Type.Boolean()),
	limits: Type.Optional(
		Type.Object(
			{
				cpuSeconds: Type.Optional(amount),
				memoryBytes: Type.Optional(amount),
				processes: Type.Optional(amount),
				fileBytes: Type.Optional(amount),
			},
			{ ...closed, title: "SandboxLimits" },
		),
	),
};
const access = Type.Union([Type.Literal("read"), Type.Literal("write"), Type.Literal("none")]);
const networkWord = Type.Union([Type.Literal("restricted"), Type.Literal("enabled")]);

export const sandbox: TUnsafe<SandboxMessage> = schemaOf<SandboxMessage>()(
	Type.Union(
		[
			Type.Object({ type: Type.Literal("dangerFullAccess") }, closed),
			Type.Object({ type: Type.Literal("externalSandbox"), networkAccess: Type.Optional(networkWord) }, closed),
			Type.Object({ type: Type.Literal("readOnly"), ...confinement }, closed),
			Type.Object(
				{
					type: Type.Literal("workspaceWrite"),
					writableRoots: Type.Optional(Type.Array(path, { maxItems: limits.sandboxPaths })),
					excludeTmpdirEnvVar: Type.Optional(Type.Boolean()),
					excludeSlashTmp: Type.Optional(Type.Boolean()),
					...confinement,
				},
				closed,
			),
			Type.Object(
				{
					type: Type.Literal("paths"),
					paths: Type.Array(Type.Object({ path, access }, closed), { maxItems: limits.sandboxPaths }),
					...confinement,
				},
				closed,
			),
		],
		{ title: "Sandbox" },
	),
);
