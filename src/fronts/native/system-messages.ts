/** What the server says about itself. */

import Type, { type TUnsafe } from "typebox";
import type { Health, Info, Ready } from "../../protocol/messages.ts";
import { schemaOf } from "./schemas.ts";

export const health: TUnsafe<Health> = schemaOf<Health>()(
	Type.Object({ status: Type.Literal("ok"), version: Type.String() }, { title: "Health" }),
);

export const info: TUnsafe<Info> = schemaOf<Info>()(
	Type.Object(
		{
			version: Type.String(),
			platform: Type.String(),
			sandbox: Type.Union([
				Type.Object({
					enforced: Type.Literal(true),
					by: Type.String(),
					limits: Type.Union([Type.Literal("cgroup"), Type.Literal("rlimits")]),
				}),
				Type.Object({ enforced: Type.Literal(false), reason: Type.String() }),
			]),
			audit: Type.Union([
				Type.Object({ kept: Type.Literal(true), healthy: Type.Boolean(), lost: Type.Integer() }),
				Type.Object({ kept: Type.Literal(false) }),
			]),
		},
		{ title: "Info" },
	),
);

export const ready: TUnsafe<Ready> = schemaOf<Ready>()(
	Type.Object({ status: Type.Literal("ready") }, { title: "Ready" }),
);
