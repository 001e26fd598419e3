/** What is said of requests for secrets, and the schemas that check it. */

import Type, { type TUnsafe } from "typebox";
import type { AskSecret, SecretRequestList, SecretRequestMessage } from "../../protocol/asking.ts";
import { PRINTABLE } from "../../protocol/printable.ts";
import { closed, displayName, milliseconds, nullable, offset, schemaOf } from "./schemas.ts";

/** A sentence, in UTF-16 units. */
const REASON_LENGTH = 200;

export const askSecret: TUnsafe<AskSecret> = schemaOf<AskSecret>()(
	Type.Object(
		{
			name: Type.Optional(displayName),
			reason: Type.Optional(Type.String({ minLength: 1, maxLength: REASON_LENGTH, pattern: PRINTABLE })),
		},
		{ ...closed, title: "AskSecret" },
	),
);

export const secretRequest: TUnsafe<SecretRequestMessage> = schemaOf<SecretRequestMessage>()(
	Type.Object(
		{
			id: Type.String(),
			session: Type.Object({ id: Type.String(), name: nullable(Type.String()), workspace: Type.String() }),
			name: nullable(Type.String()),
			reason: nullable(Type.String()),
			prompt: Type.String(),
			program: nullable(Type.String()),
			offset,
			askedBy: Type.String(),
			createdAt: milliseconds,
			expiresAt: milliseconds,
			source: Type.Optional(Type.Object({ name: Type.String(), fault: nullable(Type.String()) })),
		},
		{ title: "SecretRequest" },
	),
);

export const secretRequestList: TUnsafe<SecretRequestList> = schemaOf<SecretRequestList>()(
	Type.Object({ requests: Type.Array(secretRequest) }, { title: "SecretRequestList" }),
);

export type RequestParams = { id: string };
export const requestParams: TUnsafe<RequestParams> = Type.Unsafe<RequestParams>(Type.Object({ id: Type.String() }));
