/** What is said to do something to a program, and about who may: input, keys, sizes, signals, leases. */

import Type, { type TUnsafe } from "typebox";
import type {
	InputReceipt,
	Resize,
	SendKeys,
	SendSignal,
	SessionLease,
	TakeLease,
	TakeoverMessage,
} from "../../protocol/acts.ts";
import { limits } from "../../protocol/messages.ts";
import { closed, nullable, offset, schemaOf, size } from "./schemas.ts";

export const inputReceipt: TUnsafe<InputReceipt> = schemaOf<InputReceipt>()(
	Type.Object({ next: offset, written: offset }, { title: "InputReceipt" }),
);

const ifWaiting = Type.Optional(offset);

export type InputQuery = { wait?: "accepted" | "written"; ifWaiting?: number };
export const inputQuery: TUnsafe<InputQuery> = schemaOf<InputQuery>()(
	Type.Object(
		{ wait: Type.Optional(Type.Union([Type.Literal("accepted"), Type.Literal("written")])), ifWaiting },
		closed,
	),
);

export type KeysQuery = { ifWaiting?: number };
export const keysQuery: TUnsafe<KeysQuery> = schemaOf<KeysQuery>()(Type.Object({ ifWaiting }, closed));

export type SecretQuery = { ifWaiting?: number; episode?: number };
export const secretQuery: TUnsafe<SecretQuery> = schemaOf<SecretQuery>()(
	Type.Object({ ifWaiting, episode: Type.Optional(offset) }, closed),
);

export const sendKeys: TUnsafe<SendKeys> = schemaOf<SendKeys>()(
	Type.Object(
		{
			keys: Type.Array(Type.String({ minLength: 1, maxLength: limits.keyLength }), {
				minItems: 1,
				maxItems: limits.keys,
			}),
		},
		{ ...closed, title: "SendKeys", examples: [{ keys: ["text:ls -l", "Enter"] }] },
	),
);

export const resize: TUnsafe<Resize> = schemaOf<Resize>()(
	Type.Object({ cols: size, rows: size }, { ...closed, title: "Resize" }),
);

export const sendSignal: TUnsafe<SendSignal> = schemaOf<SendSignal>()(
	Type.Object(
		{ signal: Type.String({ minLength: 1, maxLength: 32 }), urgent: Type.Optional(Type.Boolean()) },
		{ ...closed, title: "SendSignal" },
	),
);

export const takeLease: TUnsafe<TakeLease> = schemaOf<TakeLease>()(
	Type.Object(
		{
			exclusive: Type.Optional(Type.Boolean()),
			force: Type.Optional(Type.Boolean()),
			ttlMs: Type.Optional(Type.Integer({ minimum: limits.minLeaseMs, maximum: limits.maxLeaseMs })),
			fence: Type.Optional(offset),
		},
		{ ...closed, title: "TakeLease" },
	),
);

export const sessionLease: TUnsafe<SessionLease> = schemaOf<SessionLease>()(
	Type.Object(
		{ fence: Type.Integer(), holder: nullable(Type.String()), exclusive: Type.Boolean() },
		{ title: "Lease" },
	),
);

export const takeover: TUnsafe<TakeoverMessage> = schemaOf<TakeoverMessage>()(
	Type.Object({ holder: Type.String(), from: offset, to: offset, commands: offset }, { title: "Takeover" }),
);

export type ReleaseQuery = { fence?: number };
export const releaseQuery: TUnsafe<ReleaseQuery> = schemaOf<ReleaseQuery>()(
	Type.Object({ fence: Type.Optional(offset) }, closed),
);
