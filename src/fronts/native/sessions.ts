/** Sessions over HTTP: create, list, look at, end. */

import type { FastifyRequest } from "fastify";
import Type from "typebox";
import type { Principal } from "../../core/access.ts";
import { SessionError } from "../../core/errors.ts";
import type { Session, SessionInfo } from "../../core/session.ts";
import type { Sessions } from "../../core/sessions.ts";
import { defaultWorkspace } from "../../core/workspaces.ts";
import {
	type CreateSession,
	idempotencyKeyHeader,
	type KillSession,
	limits,
	type Overview,
	type SessionList,
	type SessionMessage,
} from "../../protocol/messages.ts";
import { checkRight, type StartRequest, witnessOf } from "../front.ts";
import { hasLabels } from "./labels.ts";
import type { NativeApp, NativeOptions } from "./options.ts";
import type { Overviews } from "./overviews.ts";
import { markOf, Repeats } from "./repeats.ts";
import { findSession, placeOf, principalOf } from "./request.ts";
import {
	createSession,
	deleteQuery,
	idParams,
	killSession,
	type ListQuery,
	listQuery,
	session,
	sessionList,
	sessionQuery,
	updateSession,
} from "./session-messages.ts";
import type { Attachments } from "./socket/attachments.ts";

/** How long keepers may hold up a list of sessions, and how many of them are asked at the same time. */
const LIST_PATIENCE_MS = 40;
const ASKED_AT_A_TIME = 32;
/** What the commands on one page may have together, in UTF-16 units: of a session, only that may be long. */
const PAGE_LENGTH = 8 * 1024 * 1024;
/** How long one keeper may take to tell how its session looks. */
const OVERVIEW_PATIENCE_MS = 500;

export function addSessions(
	app: NativeApp,
	{ sessions, prepare, clock }: NativeOptions,
	attachments: Attachments,
	overviews: Overviews,
): void {
	const repeats = new Repeats(
		clock,
		sessions.list().map(({ spec }) => spec),
	);
	app.post(
		"/v1/sessions",
		{
			bodyLimit: limits.startBytes,
			config: {
				policy: "manage",
				makes: true,
				operation: "createSession",
				summary: "Start a program",
				headers: [idempotencyKeyHeader],
				answerHeaders: ["location"],
			},
			schema: { body: createSession, response: { 201: session } },
		},
		async (request, reply) => {
			// Before anything is looked up: whether a task is there is nobody's business who may not use it.
			checkRight(request, "manage", { workspace: request.body.workspace ?? defaultWorkspace });
			const mark = markOf(principalOf(request), request.headers[idempotencyKeyHeader], request.body);
			const make = async () => {
				const start = prepare({ ...toStartRequest(request.body), request: mark });
				return (await witnessOf(request).create(sessions, start)).id;
			};
			const id = await (mark ? repeats.once(mark, make) : make());
			const created = sessions.get(id);
			if (!created)
				throw new SessionError("session_not_found", `session "${id}", which this request made, was removed`);
			return reply
				.code(201)
				.header("location", `/v1/sessions/${id}`)
				.send(sessionMessage(await created.info()));
		},
	);

	app.get(
		"/v1/sessions",
		{
			config: { policy: "read", operation: "listSessions", summary: "List sessions" },
			schema: { querystring: listQuery, response: { 200: sessionList } },
		},
		(request) => {
			const look = request.query.overview === "1" ? lookBy(request, overviews) : undefined;
			return page(sessions, request.query, request.principal, look);
		},
	);

	app.get(
		"/v1/sessions/:id",
		{
			config: { policy: "read", operation: "getSession", summary: "Look at a session" },
			schema: { params: idParams, querystring: sessionQuery, response: { 200: session } },
		},
		async (request) => {
			const found = findSession(sessions, request);
			const message = sessionMessage(await found.info());
			if (request.query.overview !== "1") return message;
			return { ...message, overview: await lookBy(request, overviews)(found, OVERVIEW_PATIENCE_MS) };
		},
	);

	app.patch(
		"/v1/sessions/:id",
		{
			config: { policy: "manage", operation: "updateSession", summary: "Change a session's name or size policy" },
			schema: { params: idParams, body: updateSession, response: { 200: session } },
		},
		async (request) => {
			const found = findSession(sessions, request);
			const { name, sizePolicy } = request.body;
			if (sizePolicy !== undefined) {
				await found.ask<"setSizePolicy">({ do: "setSizePolicy", policy: sizePolicy });
				await attachments.get(found.id)?.sizes.review();
			}
			if (name !== undefined) await sessions.rename(found.id, name);
			return sessionMessage(await found.info());
		},
	);

	app.post(
		"/v1/sessions/:id/kill",
		{
			config: { policy: "manage", operation: "killSession", summary: "End a session's program, and keep the session" },
			schema: { params: idParams, body: Type.Optional(killSession), response: { 200: session } },
		},
		async (request) => {
			const found = findSession(sessions, request);
			await kill(found, request.body ?? {}, request.principal?.name);
			return sessionMessage(await found.info());
		},
	);

	app.delete(
		"/v1/sessions/:id",
		{
			config: {
				policy: "manage",
				operation: "deleteSession",
				summary: "End and forget a session",
				answers: { 200: "application/json", 204: "" },
			},
			schema: { params: idParams, querystring: deleteQuery },
		},
		async (request, reply) => {
			const found = findSession(sessions, request);
			const { keep, force, ...how } = request.query;
			const by = request.principal?.name;
			const isGentle = how.signal !== undefined || how.graceMs !== undefined;
			if (keep === "1" || isGentle) await kill(found, how, by);
			if (keep === "1") return reply.send(sessionMessage(await found.info()));
			await witnessOf(request).remove(sessions, found, { by, force: force === "1" });
			return reply.code(204).send();
		},
	);
}

async function kill(session: Session, { signal, graceMs }: KillSession, by: string | undefined): Promise<void> {
	await session.kill({
		reason: "killed",
		...(by === undefined ? {} : { by }),
		...(signal === undefined ? {} : { signal: signal.startsWith("SIG") ? signal : `SIG${signal}` }),
		...(graceMs === undefined ? {} : { graceMs }),
	});
}

/** A terminal line is a shell's business; everything else names its program itself. */
function toStartRequest(body: CreateSession): StartRequest {
	const { argv, command, cols, rows, retain, baseEnv, ...rest } = body;
	if ((argv === undefined) === (command === undefined)) {
		throw new SessionError("invalid_argument", "argv, command: exactly one of the two is required", {
			hint: 'argv is a list such as ["ls", "-l"], command a line for /bin/sh -c',
		});
	}
	if (argv?.[0] === "") throw new SessionError("invalid_argument", "argv.0: must name a program");
	return {
		shellHooks: true,
		...rest,
		base: baseEnv,
		argv: argv ?? ["/bin/sh", "-c", command ?? ""],
		size: { ...(cols === undefined ? {} : { cols }), ...(rows === undefined ? {} : { rows }) },
		retention: retain,
		// Clients of this API say so when a terminal of theirs answers.
		answersQueries: true,
	};
}

/** Tells how a session looks, within so many milliseconds. */
type Look = (session: Session, patienceMs: number) => Promise<Overview>;

/** A line of its output is told with it, so that it is recorded as every other reading of that. */
function lookBy(request: FastifyRequest, overviews: Overviews): Look {
	return (session, patienceMs) => {
		witnessOf(request).record({ action: "read" }, placeOf(session));
		return overviews.read(session, patienceMs);
	};
}

async function page(
	sessions: Sessions,
	query: ListQuery,
	principal: Principal | null,
	look: Look | undefined,
): Promise<SessionList> {
	const mayRead = ({ id, spec }: Session) =>
		principal?.may("read", { workspace: spec.workspace, session: id }) === true;
	const known = sessions.list().filter(mayRead);
	const visible = query.order === "newest" ? known.reverse() : known;
	const matching = visible.filter((candidate) => matches(candidate, query));
	const from = query.after === undefined ? 0 : indexAfter(matching, visible, query.after);
	const limit = query.limit ?? limits.listed;
	const listed = fitting(matching.slice(from, from + limit));
	const messages = await askAll(listed, look);
	const isLast = from + listed.length >= matching.length;
	return {
		sessions: messages.filter((message) => message !== undefined),
		next: isLast ? null : (listed.at(-1)?.id ?? null),
	};
}

/** The first of them that fit on a page; one in any case. */
function fitting(wanted: readonly Session[]): readonly Session[] {
	let length = 0;
	const end = wanted.findIndex(({ spec }) => {
		length += spec.argv.reduce((sum, argument) => sum + argument.length, 0);
		return length > PAGE_LENGTH;
	});
	return end < 0 ? wanted : wanted.slice(0, Math.max(1, end));
}

/**
 * A list is of what is known, and says of which sessions that is old: none is waited for for long. Whoever is asked is
 * a process that wants its turn, so that hundreds of them at once would be what the list waits for.
 */
async function askAll(listed: readonly Session[], look: Look | undefined): Promise<(SessionMessage | undefined)[]> {
	const messages: (SessionMessage | undefined)[] = [];
	const deadline = performance.now() + LIST_PATIENCE_MS;
	// From another place each time, so that those who are asked too late are not always the same.
	const first = Math.floor(Math.random() * listed.length);
	let asked = 0;
	const ask = async (one: Session): Promise<SessionMessage | undefined> => {
		const [info, overview] = await Promise.all([
			one.info(deadline - performance.now()).catch(unlessGone),
			look?.(one, deadline - performance.now()),
		]);
		return info && { ...sessionMessage(info), ...(overview ? { overview } : {}) };
	};
	const askOn = async (): Promise<void> => {
		while (asked < listed.length) {
			const index = (first + asked++) % listed.length;
			messages[index] = listed[index] && (await ask(listed[index]));
		}
	};
	await Promise.all(Array.from({ length: ASKED_AT_A_TIME }, askOn));
	return messages;
}

/** One that is being removed is on the list for a moment more. */
function unlessGone(error: unknown): undefined {
	if (!(error instanceof SessionError) || error.code !== "session_not_found") throw error;
}

function matches({ spec, state: { status } }: Session, { workspace, task, name, label, state }: ListQuery): boolean {
	if (state && !state.includes(status)) return false;
	if (workspace !== undefined && spec.workspace !== workspace) return false;
	if (task !== undefined && spec.task !== task) return false;
	if (name !== undefined && spec.name !== name) return false;
	return hasLabels(spec.labels, label ?? []);
}

/** `visible` are all that the caller may see: what it may not is as unknown as what was never there. */
function indexAfter(matching: readonly Session[], visible: readonly Session[], after: string): number {
	const place = visible.findIndex(({ id }) => id === after);
	if (place < 0) {
		throw new SessionError(
			"invalid_argument",
			`after: there is no session ${JSON.stringify(after.slice(0, 64))} any more`,
			{
				hint: "list again from the start",
			},
		);
	}
	const later = new Set(visible.slice(place + 1));
	const index = matching.findIndex((candidate) => later.has(candidate));
	return index < 0 ? matching.length : index;
}

export function sessionMessage(info: SessionInfo): SessionMessage {
	return {
		id: info.id,
		name: info.name,
		state: info.status,
		argv: [...info.argv],
		cwd: info.cwd,
		mode: info.mode,
		size: { cols: info.size.cols, rows: info.size.rows },
		sizePolicy: info.sizePolicy ?? info.firstSizePolicy ?? "latest",
		pid: info.pid,
		offsets: { oldest: info.offsets.oldest, end: info.offsets.end },
		exit: info.exit,
		createdAt: info.createdAt,
		endedAt: info.endedAt,
		attachments: info.attachments,
		...(info.unreachable ? { unreachable: true } : {}),
		lease: info.lease,
		activeAt: info.activeAt ?? null,
		labels: { ...info.labels },
		workspace: info.workspace,
		task: info.task ?? null,
		durable: info.durable,
		retain: info.retention,
		timeoutMs: info.timeoutMs,
		idleTimeoutMs: info.idleTimeoutMs,
		idleExemptJobs: info.idleExemptJobs ?? false,
	};
}
