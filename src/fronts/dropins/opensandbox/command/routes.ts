/** `/command`: runs commands; streams or returns their output, status and end. */

import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { SessionError } from "../../../../core/errors.ts";
import type { Session } from "../../../../core/session/session.ts";
import { onAnswerClosed } from "../../../../http/answer.ts";
import { addReader, auditedCallerOf, checkRight, hasRight } from "../../../../http/caller.ts";
import type { ServerContext } from "../../../../http/front.ts";
import { ExecdError, notServed } from "../errors.ts";
import { completed, EventStream, encodeEvent, ended, failed } from "../event-stream.ts";
import { defaultTimes } from "../limits.ts";
import type { OpenSandboxOptions } from "../options.ts";
import { defaultPlacement } from "../options.ts";
import { commandLines } from "../output-lines.ts";
import { forgetAtEnd, sendOutput } from "../program-stream.ts";
import { readBody, refusal, startBody } from "../request-body.ts";
import { existingDirectory } from "../working-directory.ts";
import { type Command, type CommandRequest, Commands } from "./commands.ts";

const MOST_ID = 2 ** 32 - 1;
const cursorHeader = "execd-commands-tail-cursor";

type WithId = { Params: { id: string } };

export function addCommands(app: FastifyInstance, options: OpenSandboxOptions, hosting: ServerContext): Commands {
	const times = { ...defaultTimes, ...options.times };
	const commands = new Commands(options);
	app.addHook("onClose", async () => commands.close());

	async function run(request: FastifyRequest, wanted: CommandRequest, reply: FastifyReply): Promise<FastifyReply> {
		const id = commands.newId();
		const started = await commands.start(id, wanted, auditedCallerOf(request)).catch(onlyStartFailure);
		const stream = new EventStream(reply, hosting);
		stream.open(encodeEvent({ type: "init", text: id }), times.streamPingMs);
		if (started instanceof SessionError) stream.end(failed(started.message));
		else if (wanted.isBackground) stream.end(completed(0));
		else {
			await sendCommand(started, stream, { drainMs: times.drainMs, hosting });
			forgetAtEnd(options.sessions, started).catch((error: unknown) => hosting.report(error, "POST /command"));
		}
		return reply;
	}

	app.post("/command", { ...startBody, config: { policy: "manage", makes: true } }, async (request, reply) => {
		checkRight(request, "manage", defaultPlacement);
		return run(request, await readCommand(request, options), reply);
	});

	app.post("/code", { ...startBody, config: { policy: "manage", makes: true } }, async (request, reply) => {
		checkRight(request, "manage", defaultPlacement);
		return run(request, readCode(request), reply);
	});

	app.get<WithId>("/command/status/:id", { config: { policy: "read" } }, async (request) => {
		const command = findCommand(commands, request, request.params.id);
		if (command) return command.status;
		throw new ExecdError(404, "INVALID_REQUEST_BODY", `command not found: ${request.params.id}`);
	});

	app.get<WithId & { Querystring: { cursor?: string } }>(
		"/command/:id/logs",
		{ config: { policy: "read" } },
		async (request, reply) => {
			const command = findCommand(commands, request, request.params.id);
			if (!command?.isBackground) throw refusal(`command not found: ${request.params.id}`);
			if (!command.session) throw refusal(`the log of command ${request.params.id} is no longer kept`);
			const cursor = cursorOf(request.query.cursor);
			const { spec } = command.session;
			onAnswerClosed(reply, addReader(request, { workspace: spec.workspace, session: spec.id }, hosting, "read"));
			return sendLog(reply, command.session, cursor);
		},
	);
	return commands;
}

/** The command with this id, if the caller may see it. */
export function findCommand(commands: Commands, request: FastifyRequest, id: string): Command | undefined {
	const command = commands.get(id);
	return command && hasRight(request, "read", command.place) ? command : undefined;
}

async function readCommand(request: FastifyRequest, options: OpenSandboxOptions): Promise<CommandRequest> {
	const body = readBody(request.body, { mayBeEmpty: false });
	const command = body.string("command");
	if (command === "") throw refusal("command is required");
	const uid = body.integer("uid", 0, MOST_ID);
	const gid = body.integer("gid", 0, MOST_ID);
	if (gid !== undefined && uid === undefined) throw refusal("gid needs uid");
	const wanted = {
		command,
		cwd: body.string("cwd") || undefined,
		isBackground: body.boolean("background"),
		timeoutMs: body.integer("timeout", 0) ?? 0,
		uid,
		gid,
		envs: body.strings("envs"),
	};
	// Checked with the server's variables only. The request's variables apply at the start.
	await existingDirectory(wanted.cwd ?? "", { env: options.environment(), cwd: options.cwd });
	return wanted;
}

/** Code without a language is a shell command. Other languages would need an interpreter. */
function readCode(request: FastifyRequest): CommandRequest {
	const body = readBody(request.body, { mayBeEmpty: false });
	const command = body.string("code");
	const language = body.object("context").string("language");
	if (command === "") throw refusal("code is required");
	if (language !== "") throw notServed(`code in ${JSON.stringify(language.slice(0, 64))}`);
	return {
		command,
		cwd: undefined,
		isBackground: false,
		timeoutMs: 0,
		uid: undefined,
		gid: undefined,
		envs: {},
	};
}

/** Returns errors of the program's start, which are sent as an event; rethrows others. */
function onlyStartFailure(error: unknown): SessionError {
	if (error instanceof SessionError && (error.code === "spawn_failed" || error.code === "invalid_argument"))
		return error;
	throw error;
}

/** The command continues if its client leaves or does not read. */
async function sendCommand(
	session: Session,
	stream: EventStream,
	options: { readonly drainMs: number; readonly hosting: ServerContext },
): Promise<void> {
	try {
		const followed = await sendOutput({ session, stream, rule: commandLines, drainMs: options.drainMs });
		if (followed.kind === "ended") stream.end(ended(followed.exit, followed.ms));
		else if (followed.kind === "stalled") stream.end(failed(followed.message));
		else stream.end(failed("the server ended this stream; the command may continue"));
	} catch (error) {
		options.hosting.report(error, "POST /command");
		stream.end(failed("internal error; see the server's log"));
	}
}

/** Anything but a number selects all output. */
function cursorOf(text: string | undefined): number {
	const cursor = /^[+-]?\d+$/.test(text ?? "") ? Number(text) : 0;
	if (cursor < 0) throw refusal("cursor must not be negative");
	return Number.isSafeInteger(cursor) ? cursor : 0;
}

/** Sends the bytes from a cursor to the current end. */
async function sendLog(reply: FastifyReply, session: Session, cursor: number): Promise<FastifyReply> {
	const end = (await session.end()).offset;
	reply.header(cursorHeader, Math.max(cursor, end)).type("text/plain; charset=utf-8");
	// The SDK fails on an empty chunked body.
	if (cursor >= end) return reply.header("content-length", 0).send();
	return reply.send(Readable.from(bytesOf(session, cursor, end), { objectMode: false }));
}

async function* bytesOf(session: Session, from: number, end: number): AsyncGenerator<Uint8Array, void, void> {
	for await (const item of session.follow({ offset: from }, { isBounded: true })) {
		if (item.kind === "output") yield item.bytes;
		const reached = item.kind === "gap" ? item.to : item.offset + (item.kind === "output" ? item.bytes.byteLength : 0);
		if (reached >= end) return;
	}
}
