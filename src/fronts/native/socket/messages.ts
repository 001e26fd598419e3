/** What a client may say over the WebSocket, checked as strictly as a request's body. */

import Type, { type TSchema, type TUnsafe } from "typebox";
import type { Validator } from "typebox/compile";
import { limits } from "../../../protocol/messages.ts";
import { type ClientMessage, socketLimits } from "../../../protocol/socket.ts";
import { problemOf, validatorOf } from "../../validation.ts";
import { closed, schemaOf } from "../schemas.ts";
import { sendInput } from "../send-messages.ts";

type MessageOf<T extends ClientMessage["type"]> = Extract<ClientMessage, { type: T }>;

const position = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const stream = Type.String({ pattern: "^[\\x21-\\x7e]{1,128}$", description: "1 to 128 visible ASCII characters" });
const size = Type.Integer({ minimum: 1, maximum: limits.maxSize });

/** Total by type: a new message does not compile until it has a schema. */
const clientMessages: { readonly [T in ClientMessage["type"]]: TUnsafe<MessageOf<T>> } = {
	hello: schemaOf<MessageOf<"hello">>()(
		Type.Object(
			{
				type: Type.Literal("hello"),
				since: Type.Union([position, Type.Literal("end")]),
				role: Type.Union([Type.Literal("writer"), Type.Literal("viewer")]),
				stream: Type.Optional(stream),
				flow: Type.Union([Type.Literal("lossless"), Type.Literal("live")]),
				replies: Type.Optional(Type.Boolean()),
				size: Type.Optional(Type.Object({ cols: size, rows: size }, closed)),
				epoch: Type.Optional(Type.String({ maxLength: 128 })),
				from: Type.Optional(Type.Literal("screen")),
				activity: Type.Optional(Type.Boolean()),
				scrollback: Type.Optional(Type.Integer({ minimum: 0, maximum: socketLimits.scrollback })),
			},
			closed,
		),
	),
	resize: schemaOf<MessageOf<"resize">>()(
		Type.Object({ type: Type.Literal("resize"), position, cols: size, rows: size }, closed),
	),
	size: schemaOf<MessageOf<"size">>()(Type.Object({ type: Type.Literal("size"), cols: size, rows: size }, closed)),
	signal: schemaOf<MessageOf<"signal">>()(
		Type.Object(
			{
				type: Type.Literal("signal"),
				position,
				signal: Type.String({ maxLength: 32 }),
				urgent: Type.Optional(Type.Boolean()),
			},
			closed,
		),
	),
	eof: schemaOf<MessageOf<"eof">>()(Type.Object({ type: Type.Literal("eof"), position }, closed)),
	take: schemaOf<MessageOf<"take">>()(
		Type.Object({ type: Type.Literal("take"), exclusive: Type.Boolean(), force: Type.Boolean() }, closed),
	),
	release: schemaOf<MessageOf<"release">>()(Type.Object({ type: Type.Literal("release") }, closed)),
	send: schemaOf<MessageOf<"send">>()(
		Type.Object(
			{
				type: Type.Literal("send"),
				id: Type.String({ minLength: 1, maxLength: socketLimits.idLength }),
				stream,
				position,
				input: sendInput,
			},
			closed,
		),
	),
	ping: schemaOf<MessageOf<"ping">>()(
		Type.Object({ type: Type.Literal("ping"), nonce: Type.Optional(Type.String({ maxLength: 256 })) }, closed),
	),
};

const validators = new Map<string, { schema: TSchema; validator: () => Validator }>(
	Object.entries(clientMessages).map(([type, schema]) => [type, { schema, validator: validatorOf(schema) }]),
);

/** A message that does not follow the protocol; its text says what is wrong with which field. */
export class MessageError extends Error {
	constructor(message: string) {
		super(message);
		this.name = "MessageError";
	}
}

export function parseClientMessage(text: string): ClientMessage {
	const message = parseJson(text);
	const type = typeof message === "object" && message !== null && "type" in message ? message.type : undefined;
	const known = typeof type === "string" ? validators.get(type) : undefined;
	if (!known) throw new MessageError("a message needs a known type");
	const validator = known.validator();
	if (validator.Check(message)) return message as ClientMessage;
	throw new MessageError(problemOf(known.schema, validator.Errors(message), message).message);
}

function parseJson(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		throw new MessageError("a text message must be JSON");
	}
}
