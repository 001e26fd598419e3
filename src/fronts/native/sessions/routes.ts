/** Sessions over HTTP: start, list, describe, change, end. */

import { idempotencyKeyHeader, limits } from "../../../api/messages.ts";
import type {
	CreateSession,
	KillSession,
	Operations,
	Overview,
	SessionList,
	SessionMessage,
} from "../../../api/types.ts";
import { Semaphore } from "../../../async/semaphore.ts";
import { SessionError } from "../../../core/errors.ts";
import type { Principal } from "../../../core/policy/access.ts";
import type { AuditedCaller } from "../../../core/policy/audited-caller.ts";
import { matchesLabels } from "../../../core/session/labels.ts";
import type { Session, SessionSummary } from "../../../core/session/session.ts";
import type { Sessions } from "../../../core/session/session-registry.ts";
import { defaultWorkspace } from "../../../core/session/workspaces.ts";
import { checkRight } from "../../../http/caller.ts";
import type { Attachments } from "../../../services/attachments/attachments.ts";
import type { Overviews } from "../../../services/feed/overviews.ts";
import { IdempotentStarts, markOf } from "../../../services/starts/idempotency.ts";
import type { StartRequest } from "../../../services/starts/request.ts";
import { resourceOf } from "../find-session.ts";
import type { NativeOptions } from "../options.ts";
import type { Serve } from "../serve.ts";

type ListQuery = Operations["listSessions"]["query"];

/**
 * Longest wait of a list for its keepers.
 * @limit a keeper's answer for a list | the last known state
 */
const LIST_TIMEOUT_MS = 40;
/** @limit keepers that a list asks at a time | the next ones wait */
const CONCURRENT_REQUESTS = 32;
/**
 * Length of all commands on one page, in UTF-16 units. No other field of a session can be long.
 * @limit commands on one page of a list | the page is shorter, and says where to continue
 */
const PAGE_LENGTH = 8 * 1024 * 1024;
/** Longest wait for the overview of one session. */
const OVERVIEW_TIMEOUT_MS = 500;

export function addSessions(
	serve: Serve,
	{ sessions, prepare, clock }: NativeOptions,
	attachments: Attachments,
	overviews: Overviews,
): void {
	const repeats = new IdempotentStarts(
		clock,
		sessions.list().map(({ spec }) => spec),
	);
	serve(
		"createSession",
		async ({ request, reply, caller, body, witness }) => {
			// First: a caller without the right must not learn whether a task exists.
			checkRight(request, "manage", { workspace: body.workspace ?? defaultWorkspace });
			const mark = markOf(caller, request.headers[idempotencyKeyHeader], body);
			const make = async () => {
				const start = prepare({ ...toStartRequest(body), request: mark });
				return (await witness.create(sessions, start)).id;
			};
			const id = await (mark ? repeats.once(mark, make) : make());
			const created = sessions.get(id);
			if (!created)
				throw new SessionError("session_not_found", `session "${id}", which this request made, was removed`);
			reply.header("location", `/v1/sessions/${id}`);
			return sessionMessage(await created.summary());
		},
		{ bodyLimit: limits.startBytes },
	);

	serve("listSessions", async ({ caller, query, witness }) => {
		const look = query.overview === "1" ? lookBy(witness, overviews) : undefined;
		return page(sessions, query, caller, look);
	});

	serve("getSession", async ({ session, query, witness }) => {
		const message = sessionMessage(await session.summary());
		if (query.overview !== "1") return message;
		return { ...message, overview: await lookBy(witness, overviews)(session, OVERVIEW_TIMEOUT_MS) };
	});

	serve("updateSession", async ({ session, body: { name, sizePolicy } }) => {
		if (sizePolicy !== undefined) {
			await session.ask<"setSizePolicy">({ do: "setSizePolicy", policy: sizePolicy });
			await attachments.get(session.id)?.sizes.review();
		}
		if (name !== undefined) await sessions.rename(session.id, name);
		return sessionMessage(await session.summary());
	});

	serve("killSession", async ({ session, body = {}, caller }) => {
		await kill(session, body, caller.name);
		return sessionMessage(await session.summary());
	});

	serve("deleteSession", async ({ session, query: { force, ...ending }, caller: { name: by }, witness }) => {
		if (ending.signal !== undefined || ending.graceMs !== undefined) await kill(session, ending, by);
		await witness.remove(sessions, session, { by, force: force === "1" });
	});
}

async function kill(session: Session, { signal, graceMs }: KillSession, by: string): Promise<void> {
	await session.kill({
		reason: "killed",
		by,
		...(signal === undefined ? {} : { signal: signal.startsWith("SIG") ? signal : `SIG${signal}` }),
		...(graceMs === undefined ? {} : { graceMs }),
	});
}

/** A `command` runs in a shell; `argv` names its program. */
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
		// Clients of this API report when their own terminal answers.
		answersQueries: true,
	};
}

/** Reads the overview of a session. */
type Look = (session: Session, timeoutMs: number) => Promise<Overview>;

/** An overview contains a line of output, so the audit records that the caller read the session. */
function lookBy(witness: AuditedCaller, overviews: Overviews): Look {
	return (session, timeoutMs) => {
		witness.record({ action: "read" }, resourceOf(session));
		return overviews.read(session, timeoutMs);
	};
}

async function page(
	sessions: Sessions,
	query: ListQuery,
	caller: Principal,
	look: Look | undefined,
): Promise<SessionList> {
	const known = sessions.list().filter((session) => caller.may("read", resourceOf(session)));
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

/** The first sessions that fit on a page; at least one. */
function fitting(wanted: readonly Session[]): readonly Session[] {
	let length = 0;
	const end = wanted.findIndex(({ spec }) => {
		length += spec.argv.reduce((sum, argument) => sum + argument.length, 0);
		return length > PAGE_LENGTH;
	});
	return end < 0 ? wanted : wanted.slice(0, Math.max(1, end));
}

/**
 * A list does not wait long for a keeper. It has the last known values of those that have not answered, marked as such.
 * Keepers are processes that compete for the processor, so only some are asked at a time.
 */
async function askAll(listed: readonly Session[], look: Look | undefined): Promise<(SessionMessage | undefined)[]> {
	const messages: (SessionMessage | undefined)[] = [];
	const deadline = performance.now() + LIST_TIMEOUT_MS;
	// A random start: otherwise the same keepers would always be asked too late.
	const first = Math.floor(Math.random() * listed.length);
	const slots = new Semaphore(CONCURRENT_REQUESTS);
	const ask = async (one: Session): Promise<SessionMessage | undefined> => {
		const [info, overview] = await Promise.all([
			one.summary(deadline - performance.now()).catch(unlessGone),
			look?.(one, deadline - performance.now()),
		]);
		return info && { ...sessionMessage(info), ...(overview ? { overview } : {}) };
	};
	const order = [...listed.keys()].map((index) => (first + index) % listed.length);
	await Promise.all(
		order.map((index) =>
			slots.run(async () => {
				messages[index] = listed[index] && (await ask(listed[index]));
			}),
		),
	);
	return messages;
}

/** A session may be removed meanwhile. */
function unlessGone(error: unknown): undefined {
	if (!(error instanceof SessionError) || error.code !== "session_not_found") throw error;
}

function matches({ spec, state: { status } }: Session, { workspace, task, name, label, state }: ListQuery): boolean {
	if (state && !state.includes(status)) return false;
	if (workspace !== undefined && spec.workspace !== workspace) return false;
	if (task !== undefined && spec.task !== task) return false;
	if (name !== undefined && spec.name !== name) return false;
	return matchesLabels(spec.labels, label ?? []);
}

/** `visible` are the sessions that the caller may read. Others get the same error as those that do not exist. */
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

export function sessionMessage(info: SessionSummary): SessionMessage {
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
		offsets: info.offsets && { oldest: info.offsets.oldest, end: info.offsets.end },
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
