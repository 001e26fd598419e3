/** Import over HTTP: a recording becomes a session that has ended. */

import type { FastifyInstance } from "fastify";
import { limits } from "../../../api/messages.ts";
import type { Operations } from "../../../api/types.ts";
import type { SessionSpec } from "../../../core/session/session-info.ts";
import { defaultWorkspace } from "../../../core/session/workspaces.ts";
import { checkRight } from "../../../http/caller.ts";
import { type CastHead, readEvents, readHead } from "../../../services/recording/asciicast-reader.ts";
import type { Prepare } from "../../../services/starts/request.ts";
import { splitCommandLine } from "../../../words/command-line.ts";
import { isPrintable } from "../../../words/printable.ts";
import type { NativeOptions } from "../options.ts";
import type { Serve } from "../serve.ts";
import { sessionMessage } from "../sessions/routes.ts";

/** The program of a recording that names none. */
const UNKNOWN = "asciicast";

export function acceptRecordings(app: FastifyInstance): void {
	app.addContentTypeParser("application/x-asciicast", { parseAs: "buffer" }, (_request, body, done) =>
		done(null, body),
	);
}

export function addImport(serve: Serve, { sessions, prepare, clock }: NativeOptions): void {
	serve(
		"importRecording",
		async (call) => {
			const { request, reply, query, witness } = call;
			checkRight(request, "manage", { workspace: query.workspace ?? defaultWorkspace });
			const { body } = call;
			const head = readHead(body);
			const { begin = clock.now() } = head;
			const spec = { ...specOf(head, query, prepare), createdAt: begin };
			const kept = await witness.keep(sessions, spec, readEvents(body, head, begin), body.byteLength);
			reply.header("location", `/v1/sessions/${kept.id}`);
			return sessionMessage(await kept.info());
		},
		{ bodyLimit: limits.recordingBytes },
	);
}

function specOf(
	{ command, title, size }: CastHead,
	{ name, workspace }: Operations["importRecording"]["query"],
	prepare: Prepare,
): SessionSpec {
	const isName = title !== undefined && title !== "" && title.length <= limits.nameLength;
	const own = isName && isPrintable(title) ? title : undefined;
	const { spec } = prepare({
		argv: command ? splitCommandLine(command) : [UNKNOWN],
		cwd: "/",
		name: name ?? own,
		workspace,
		size,
		durable: true,
		retention: { journalBytes: limits.recordingBytes },
	});
	return spec;
}
