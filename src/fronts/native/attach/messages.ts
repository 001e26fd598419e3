/** Parses and checks the JSON messages of a client, as strictly as request bodies. */

import { clientMessages } from "../../../api/schema/socket.ts";
import { validatorOf } from "../../../api/schema/validator.ts";
import type { ClientMessage } from "../../../api/types.ts";
import { SessionError } from "../../../core/errors.ts";
import { parseJson } from "../../../core/json-scan.ts";
import { problemOf } from "../../../http/validation.ts";

const validators = new Map(
	[...clientMessages].map(([type, schema]) => [type, { schema, validator: validatorOf(schema) }] as const),
);

/** A protocol violation. The text names the field and the problem. */
export class MessageError extends Error {
	constructor(message: string) {
		super(message);
		this.name = "MessageError";
	}
}

export function parseClientMessage(text: string): ClientMessage {
	const message = read(text);
	const type = typeof message === "object" && message !== null && "type" in message ? message.type : undefined;
	const known = typeof type === "string" ? validators.get(type) : undefined;
	if (!known) throw new MessageError("unknown message type");
	if (known.validator().Check(message)) return message as ClientMessage;
	throw new MessageError(problemOf(known.schema, message).message);
}

function read(text: string): unknown {
	try {
		return parseJson(text);
	} catch (error) {
		throw new MessageError(error instanceof SessionError ? error.message : "a text message must be JSON");
	}
}
