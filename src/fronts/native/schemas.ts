/** What the native API's schemas have in common. */

import Type, {
	type Static,
	type TInteger,
	type TNull,
	type TSchema,
	type TString,
	type TUnion,
	type TUnsafe,
} from "typebox";
import { idPattern } from "../../core/workspaces.ts";
import { type ExitMessage, limits, type SessionState } from "../../protocol/messages.ts";
import { PRINTABLE } from "../../protocol/printable.ts";

/** An object with no other members. */
export const closed = { additionalProperties: false } as const;

/** What a session or a token is called. */
export const displayName: TString = Type.String({
	minLength: 1,
	maxLength: limits.nameLength,
	pattern: PRINTABLE,
	description: "printable characters",
});

export function nullable<S extends TSchema>(schema: S): TUnion<[S, TNull]> {
	return Type.Union([schema, Type.Null()]);
}

export const flag: TUnsafe<"0" | "1"> = Type.Unsafe<"0" | "1">(Type.Union([Type.Literal("0"), Type.Literal("1")]));

/** Both directions, because a schema that is merely assignable would accept too little or too much. */
type Same<A, B> = [A, B] extends [B, A] ? true : false;

/** Ties a schema to the type in `protocol`, which clients compile against; does not compile when they differ. */
export function schemaOf<T>(): <S extends TSchema>(
	schema: S & (Same<Static<S>, T> extends true ? S : never),
) => TUnsafe<T> {
	return (schema) => Type.Unsafe<T>(schema);
}

/** What `execve` can carry: a zero byte would silently cut the value. */
export const NO_NUL = "^[^\\u0000]*$";

/** Of a workspace or a task. */
export const id: TString = Type.String({ pattern: idPattern, description: "1 to 64 of A-Z, a-z, 0-9, _ . -" });
export const path: TString = Type.String({
	pattern: "^/[^\\u0000]*$",
	maxLength: 4096,
	description: "an absolute path",
});

export const size: TInteger = Type.Integer({ minimum: 1, maximum: limits.maxSize });
export const milliseconds: TInteger = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
export const bytes: TInteger = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
export const offset: TInteger = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

export const sessionState: TUnsafe<SessionState> = Type.Unsafe<SessionState>(
	Type.Union([Type.Literal("running"), Type.Literal("exited"), Type.Literal("closed"), Type.Literal("lost")]),
);

export const exit: TUnsafe<ExitMessage> = schemaOf<ExitMessage>()(
	Type.Object(
		{
			code: nullable(Type.Integer()),
			signal: nullable(Type.String()),
			reason: Type.Optional(
				Type.Union([Type.Literal("timeout"), Type.Literal("idle"), Type.Literal("killed"), Type.Literal("oom")]),
			),
			by: Type.Optional(Type.String()),
		},
		{ title: "Exit" },
	),
);

/** Where in a log something is asked for. */
export const place: TUnsafe<string> = Type.Unsafe<string>(
	Type.String({
		pattern: "^(\\d{1,15}|\\d{4}-\\d\\d-\\d\\d[0-9T:.Z+-]{0,30})$",
		description: "an offset, or a time such as 2026-01-31T12:00:00Z",
	}),
);
