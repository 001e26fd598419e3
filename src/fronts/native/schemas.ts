/** What the native API's schemas have in common. */

import Type, { type TNull, type TSchema, type TString, type TUnion } from "typebox";
import { limits } from "../../protocol/messages.ts";

/** An object with no other members. */
export const closed = { additionalProperties: false } as const;

/** No control characters: what people name is printed into terminals. */
export const PRINTABLE = "^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028-\\u202e\\u2066-\\u2069]*$";

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
