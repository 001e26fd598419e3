/** Recordings over HTTP, the other way: a file becomes a session that has ended, to be read like any other. */

import { SessionError } from "../../../core/errors.ts";
import type { SessionSpec } from "../../../core/session.ts";
import { defaultWorkspace } from "../../../core/workspaces.ts";
import { wordsOf } from "../../../protocol/command-line.ts";
import { limits } from "../../../protocol/messages.ts";
import type { ImportQuery } from "../../../protocol/past.ts";
import { isPrintable } from "../../../protocol/printable.ts";
import { checkRight, type Prepare, witnessOf } from "../../front.ts";
import type { NativeApp, NativeOptions } from "../options.ts";
import { session as sessionSchema } from "../session-messages.ts";
import { sessionMessage } from "../sessions.ts";
import { importQuery } from "./messages.ts";
import { type CastHead, readEvents, readHead } from "./read-cast.ts";

/** What it is said to have run where it does not say so itself. */
const UNKNOWN = "asciicast";

export function addImport(app: NativeApp, { sessions, prepare, clock }: NativeOptions): void {
	app.addContentTypeParser("application/x-asciicast", { parseAs: "buffer" }, (_request, body, done) =>
		done(null, body),
	);

	app.post(
		"/v1/recordings",
		{
			bodyLimit: limits.recordingBytes,
			config: {
				policy: "manage",
				makes: true,
				operation: "importRecording",
				summary: "Take in an asciicast as a session that has ended",
				takes: "application/x-asciicast",
				answerHeaders: ["location"],
			},
			schema: { querystring: importQuery, response: { 201: sessionSchema } },
		},
		async (request, reply) => {
			const { query, body } = request;
			checkRight(request, "manage", { workspace: query.workspace ?? defaultWorkspace });
			if (!(body instanceof Uint8Array)) {
				throw new SessionError("invalid_argument", "the body must be sent as application/x-asciicast");
			}
			const head = readHead(body);
			const { begin = clock.now() } = head;
			const spec = { ...specOf(head, query, prepare), createdAt: begin };
			const kept = await witnessOf(request).keep(sessions, spec, readEvents(body, head, begin), body.byteLength);
			return reply
				.code(201)
				.header("location", `/v1/sessions/${kept.id}`)
				.send(sessionMessage(await kept.info()));
		},
	);
}

function specOf({ command, title, size }: CastHead, { name, workspace }: ImportQuery, prepare: Prepare): SessionSpec {
	const isName = title !== undefined && title !== "" && title.length <= limits.nameLength;
	const own = isName && isPrintable(title) ? title : undefined;
	const { spec } = prepare({
		argv: command ? wordsOf(command) : [UNKNOWN],
		cwd: "/",
		name: name ?? own,
		workspace,
		size,
		durable: true,
		retention: { journalBytes: limits.recordingBytes },
	});
	return spec;
}
