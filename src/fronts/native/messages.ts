/** The native API's schemas: what they describe is what is validated, and what the API description will say. */

import Type, { type Static, type TSchema, type TString, type TUnsafe } from "typebox";
import { idPattern } from "../../core/workspaces.ts";
import {
	type AuditList,
	type CreateSession,
	type Detached,
	type FeedEvent,
	type Health,
	type Info,
	type InputReceipt,
	type KillSession,
	limits,
	type OutputEvent,
	type Ready,
	type RecordingQuery,
	type Resize,
	type SandboxMessage,
	type SearchQuery,
	type SearchResult,
	type SendKeys,
	type SendSignal,
	type SessionLease,
	type SessionList,
	type SessionMessage,
	type TakeLease,
	type UpdateSession,
} from "../../protocol/messages.ts";
import { closed, displayName, nullable, PRINTABLE } from "./schemas.ts";

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

const text = Type.String({ pattern: NO_NUL });
const variableName = Type.String({ pattern: "^[^=\\u0000]+$" });
/** Of a workspace or a task. */
export const id: TString = Type.String({ pattern: idPattern, description: "1 to 64 of A-Z, a-z, 0-9, _ . -" });
const size = Type.Integer({ minimum: 1, maximum: limits.maxSize });
const milliseconds = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const bytes = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const offset = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const mode = Type.Union([Type.Literal("pty"), Type.Literal("pipe")]);
const labelText = Type.String({ maxLength: limits.labelLength, pattern: PRINTABLE });
const state = Type.Union([
	Type.Literal("running"),
	Type.Literal("exited"),
	Type.Literal("closed"),
	Type.Literal("lost"),
]);

export const path: TString = Type.String({
	pattern: "^/[^\\u0000]*$",
	maxLength: 4096,
	description: "an absolute path",
});
const amount = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });
const confinement = {
	networkAccess: Type.Optional(Type.Boolean()),
	limits: Type.Optional(
		Type.Object(
			{
				cpuSeconds: Type.Optional(amount),
				memoryBytes: Type.Optional(amount),
				processes: Type.Optional(amount),
				fileBytes: Type.Optional(amount),
			},
			{ ...closed, title: "SandboxLimits" },
		),
	),
};
const access = Type.Union([Type.Literal("read"), Type.Literal("write"), Type.Literal("none")]);
const networkWord = Type.Union([Type.Literal("restricted"), Type.Literal("enabled")]);

const sandbox: TUnsafe<SandboxMessage> = schemaOf<SandboxMessage>()(
	Type.Union(
		[
			Type.Object({ type: Type.Literal("dangerFullAccess") }, closed),
			Type.Object({ type: Type.Literal("externalSandbox"), networkAccess: Type.Optional(networkWord) }, closed),
			Type.Object({ type: Type.Literal("readOnly"), ...confinement }, closed),
			Type.Object(
				{
					type: Type.Literal("workspaceWrite"),
					writableRoots: Type.Optional(Type.Array(path, { maxItems: limits.sandboxPaths })),
					excludeTmpdirEnvVar: Type.Optional(Type.Boolean()),
					excludeSlashTmp: Type.Optional(Type.Boolean()),
					...confinement,
				},
				closed,
			),
			Type.Object(
				{
					type: Type.Literal("paths"),
					paths: Type.Array(Type.Object({ path, access }, closed), { maxItems: limits.sandboxPaths }),
					...confinement,
				},
				closed,
			),
		],
		{ title: "Sandbox" },
	),
);

export const createSession: TUnsafe<CreateSession> = schemaOf<CreateSession>()(
	Type.Object(
		{
			argv: Type.Optional(Type.Array(text, { minItems: 1 })),
			command: Type.Optional(Type.String({ minLength: 1, pattern: NO_NUL })),
			cwd: Type.Optional(path),
			env: Type.Optional(Type.Record(variableName, nullable(text), closed)),
			baseEnv: Type.Optional(Type.Record(variableName, text, closed)),
			mode: Type.Optional(mode),
			cols: Type.Optional(size),
			rows: Type.Optional(size),
			name: Type.Optional(displayName),
			labels: Type.Optional(
				Type.Record(Type.String({ pattern: "^[A-Za-z0-9_./-]{1,64}$" }), labelText, {
					...closed,
					maxProperties: limits.labels,
				}),
			),
			workspace: Type.Optional(id),
			task: Type.Optional(id),
			timeoutMs: Type.Optional(milliseconds),
			idleTimeoutMs: Type.Optional(milliseconds),
			idleExemptJobs: Type.Optional(Type.Boolean()),
			durable: Type.Optional(Type.Boolean()),
			retain: Type.Optional(
				Type.Object({ memoryBytes: Type.Optional(bytes), journalBytes: Type.Optional(bytes) }, closed),
			),
			stdin: Type.Optional(Type.Union([Type.Literal("open"), Type.Literal("closed")])),
			sandbox: Type.Optional(sandbox),
		},
		{
			...closed,
			title: "CreateSession",
			examples: [
				{ command: "make test" },
				{ argv: ["bash", "-l"], name: "work", cwd: "/srv/app", cols: 120, rows: 40, labels: { kind: "shell" } },
			],
		},
	),
);

const exit = Type.Object(
	{
		code: nullable(Type.Integer()),
		signal: nullable(Type.String()),
		reason: Type.Optional(
			Type.Union([Type.Literal("timeout"), Type.Literal("idle"), Type.Literal("killed"), Type.Literal("oom")]),
		),
		by: Type.Optional(Type.String()),
	},
	{ title: "Exit" },
);
const lease = Type.Object(
	{ fence: Type.Integer(), holder: nullable(Type.String()), exclusive: Type.Boolean() },
	{ title: "Lease" },
);

const exampleSession: SessionMessage = {
	id: "k3v9x0q2m4abt7w1dz",
	name: "build",
	state: "running",
	argv: ["make", "test"],
	cwd: "/srv/app",
	mode: "pty",
	size: { cols: 80, rows: 24 },
	pid: 4711,
	offsets: { oldest: 0, end: 1834 },
	exit: null,
	createdAt: 1_789_000_000_000,
	endedAt: null,
	attachments: 0,
	lease: { fence: 0, holder: null, exclusive: false },
	activeAt: 1_789_000_004_200,
	labels: { kind: "ci" },
	workspace: "default",
	task: null,
	durable: true,
	retain: { memoryBytes: 1_048_576, journalBytes: 67_108_864 },
	timeoutMs: 0,
	idleTimeoutMs: 0,
	idleExemptJobs: false,
};

export const session: TUnsafe<SessionMessage> = schemaOf<SessionMessage>()(
	Type.Object(
		{
			id: Type.String(),
			name: nullable(Type.String()),
			state,
			argv: Type.Array(Type.String()),
			cwd: Type.String(),
			mode,
			size: Type.Object({ cols: size, rows: size }),
			pid: nullable(Type.Integer()),
			offsets: Type.Object({ oldest: offset, end: offset }),
			exit: nullable(exit),
			createdAt: milliseconds,
			endedAt: nullable(milliseconds),
			attachments: Type.Integer(),
			unreachable: Type.Optional(Type.Literal(true)),
			lease,
			activeAt: nullable(Type.Integer()),
			labels: Type.Record(Type.String(), Type.String()),
			workspace: Type.String(),
			task: nullable(Type.String()),
			durable: Type.Boolean(),
			retain: Type.Object({ memoryBytes: bytes, journalBytes: bytes }),
			timeoutMs: milliseconds,
			idleTimeoutMs: milliseconds,
			idleExemptJobs: Type.Boolean(),
		},
		{ title: "Session", examples: [exampleSession] },
	),
);

export const sessionList: TUnsafe<SessionList> = schemaOf<SessionList>()(
	Type.Object({ sessions: Type.Array(session), next: nullable(Type.String()) }, { title: "SessionList" }),
);

export const inputReceipt: TUnsafe<InputReceipt> = schemaOf<InputReceipt>()(
	Type.Object({ next: offset, written: offset }, { title: "InputReceipt" }),
);

export const health: TUnsafe<Health> = schemaOf<Health>()(
	Type.Object({ status: Type.Literal("ok"), version: Type.String() }, { title: "Health" }),
);

export const info: TUnsafe<Info> = schemaOf<Info>()(
	Type.Object(
		{
			version: Type.String(),
			platform: Type.String(),
			sandbox: Type.Union([
				Type.Object({
					enforced: Type.Literal(true),
					by: Type.String(),
					limits: Type.Union([Type.Literal("cgroup"), Type.Literal("rlimits")]),
				}),
				Type.Object({ enforced: Type.Literal(false), reason: Type.String() }),
			]),
			audit: Type.Union([
				Type.Object({ kept: Type.Literal(true), healthy: Type.Boolean(), lost: Type.Integer() }),
				Type.Object({ kept: Type.Literal(false) }),
			]),
		},
		{ title: "Info" },
	),
);

export const ready: TUnsafe<Ready> = schemaOf<Ready>()(
	Type.Object({ status: Type.Literal("ready") }, { title: "Ready" }),
);

export const sendKeys: TUnsafe<SendKeys> = schemaOf<SendKeys>()(
	Type.Object(
		{
			keys: Type.Array(Type.String({ minLength: 1, maxLength: limits.keyLength }), {
				minItems: 1,
				maxItems: limits.keys,
			}),
		},
		{ ...closed, title: "SendKeys", examples: [{ keys: ["text:ls -l", "Enter"] }] },
	),
);

export const resize: TUnsafe<Resize> = schemaOf<Resize>()(
	Type.Object({ cols: size, rows: size }, { ...closed, title: "Resize" }),
);

export const sendSignal: TUnsafe<SendSignal> = schemaOf<SendSignal>()(
	Type.Object(
		{ signal: Type.String({ minLength: 1, maxLength: 32 }), urgent: Type.Optional(Type.Boolean()) },
		{ ...closed, title: "SendSignal" },
	),
);

export type EventsQuery = { since?: string };
export const eventsQuery: TUnsafe<EventsQuery> = schemaOf<EventsQuery>()(
	Type.Object({ since: Type.Optional(Type.String({ maxLength: 64 })) }, closed),
);

export type ListQuery = {
	state?: SessionMessage["state"][];
	workspace?: string;
	task?: string;
	name?: string;
	label?: string[];
	order?: "oldest" | "newest";
	after?: string;
	limit?: number;
};
export const listQuery: TUnsafe<ListQuery> = schemaOf<ListQuery>()(
	Type.Object(
		{
			state: Type.Optional(Type.Array(state)),
			workspace: Type.Optional(Type.String()),
			task: Type.Optional(Type.String()),
			name: Type.Optional(Type.String()),
			label: Type.Optional(Type.Array(Type.String())),
			order: Type.Optional(Type.Union([Type.Literal("oldest"), Type.Literal("newest")])),
			after: Type.Optional(Type.String()),
			limit: Type.Optional(Type.Integer({ minimum: 1, maximum: limits.maxListed })),
		},
		closed,
	),
);

const killSignal = Type.String({ pattern: "^(SIG)?[A-Z][A-Z0-9+]{1,15}$", description: "a name such as TERM" });
const graceMs = Type.Integer({ minimum: 0, maximum: limits.maxGraceMs });

export const updateSession: TUnsafe<UpdateSession> = schemaOf<UpdateSession>()(
	Type.Object({ name: nullable(displayName) }, { ...closed, title: "UpdateSession" }),
);
export const detached: TUnsafe<Detached> = schemaOf<Detached>()(
	Type.Object({ detached: Type.Integer() }, { title: "Detached" }),
);
export const killSession: TUnsafe<KillSession> = schemaOf<KillSession>()(
	Type.Object(
		{ signal: Type.Optional(killSignal), graceMs: Type.Optional(graceMs) },
		{ ...closed, title: "KillSession" },
	),
);

export const takeLease: TUnsafe<TakeLease> = schemaOf<TakeLease>()(
	Type.Object(
		{
			exclusive: Type.Optional(Type.Boolean()),
			force: Type.Optional(Type.Boolean()),
			ttlMs: Type.Optional(Type.Integer({ minimum: limits.minLeaseMs, maximum: limits.maxLeaseMs })),
			fence: Type.Optional(offset),
		},
		{ ...closed, title: "TakeLease" },
	),
);

export const sessionLease: TUnsafe<SessionLease> = schemaOf<SessionLease>()(lease);

export type ReleaseQuery = { fence?: number };
export const releaseQuery: TUnsafe<ReleaseQuery> = schemaOf<ReleaseQuery>()(
	Type.Object({ fence: Type.Optional(offset) }, closed),
);

/** `keep` is how a session was killed before there was a path for it. */
export type DeleteQuery = { keep?: "0" | "1"; force?: "0" | "1"; signal?: string; graceMs?: number };
export const deleteQuery: TUnsafe<DeleteQuery> = schemaOf<DeleteQuery>()(
	Type.Object(
		{
			keep: Type.Optional(Type.Union([Type.Literal("0"), Type.Literal("1")], { deprecated: true })),
			force: Type.Optional(Type.Union([Type.Literal("0"), Type.Literal("1")])),
			signal: Type.Optional(killSignal),
			graceMs: Type.Optional(graceMs),
		},
		closed,
	),
);

export type InputQuery = { wait?: "accepted" | "written" };
export const inputQuery: TUnsafe<InputQuery> = schemaOf<InputQuery>()(
	Type.Object({ wait: Type.Optional(Type.Union([Type.Literal("accepted"), Type.Literal("written")])) }, closed),
);

/** `max` is what `limit` was called before. */
export type OutputQuery = { since?: number; limit?: number; max?: number; wait?: number };
export const outputQuery: TUnsafe<OutputQuery> = schemaOf<OutputQuery>()(
	Type.Object(
		{
			since: Type.Optional(offset),
			limit: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
			max: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, deprecated: true })),
			wait: Type.Optional(milliseconds),
		},
		closed,
	),
);

const flag = Type.Union([Type.Literal("0"), Type.Literal("1")]);

export const searchQuery: TUnsafe<SearchQuery> = schemaOf<SearchQuery>()(
	Type.Object(
		{
			q: Type.String({ minLength: 1, maxLength: limits.patternLength }),
			regex: Type.Optional(flag),
			ignoreCase: Type.Optional(flag),
			limit: Type.Optional(Type.Integer({ minimum: 1, maximum: limits.maxListed })),
			after: Type.Optional(offset),
		},
		closed,
	),
);

export const searchResult: TUnsafe<SearchResult> = schemaOf<SearchResult>()(
	Type.Object(
		{
			matches: Type.Array(
				Type.Object(
					{
						offset,
						end: offset,
						time: milliseconds,
						line: offset,
						text: Type.String(),
						at: Type.Tuple([Type.Integer(), Type.Integer()]),
					},
					{ title: "SearchMatch" },
				),
			),
			searched: Type.Object({ from: offset, to: offset }),
			next: nullable(offset),
		},
		{ title: "SearchResult" },
	),
);

const recordingPlace = Type.String({
	pattern: "^(\\d{1,15}|\\d{4}-\\d\\d-\\d\\d[0-9T:.Z+-]{0,30})$",
	description: "an offset, or a time such as 2026-01-31T12:00:00Z",
});

export const recordingQuery: TUnsafe<RecordingQuery> = schemaOf<RecordingQuery>()(
	Type.Object(
		{
			format: Type.Optional(Type.Union([Type.Literal("asciicast-v2"), Type.Literal("asciicast-v3")])),
			idleLimitMs: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
			from: Type.Optional(recordingPlace),
			to: Type.Optional(recordingPlace),
		},
		closed,
	),
);

export type IdParams = { id: string };
export const idParams: TUnsafe<IdParams> = schemaOf<IdParams>()(Type.Object({ id: Type.String() }));

const gap = Type.Object(
	{
		from: offset,
		to: offset,
		reason: Type.Union([Type.Literal("retention"), Type.Literal("live"), Type.Literal("journal")]),
	},
	{ title: "GapEvent" },
);

const outputEvent: TUnsafe<OutputEvent> = schemaOf<OutputEvent>()(
	Type.Object(
		{
			offset,
			stream: Type.Union([Type.Literal("stdout"), Type.Literal("stderr"), Type.Literal("pty")]),
			data: Type.String({ contentEncoding: "base64" }),
		},
		{ title: "OutputEvent" },
	),
);

/** What an event stream of output has as `data:`, by its `event:`. */
export const outputEventSchemas: Readonly<Record<string, TSchema>> = {
	output: outputEvent,
	gap,
	resized: Type.Object({ offset, cols: size, rows: size }, { title: "ResizedEvent" }),
	exited: Type.Object({ offset, exit }, { title: "ExitedEvent" }),
	closed: Type.Object({ offset }, { title: "ClosedEvent" }),
	lost: Type.Object({ offset, message: Type.String() }, { title: "LostEvent" }),
};

const feedEvent: TUnsafe<FeedEvent> = schemaOf<FeedEvent>()(
	Type.Object(
		{
			type: Type.Union([
				Type.Literal("created"),
				Type.Literal("exited"),
				Type.Literal("closed"),
				Type.Literal("lost"),
				Type.Literal("removed"),
			]),
			time: milliseconds,
			session: Type.Object({ id: Type.String(), name: nullable(Type.String()), workspace: Type.String() }),
			exit: Type.Optional(exit),
		},
		{ title: "Event" },
	),
);
const nothing = Type.Object({}, { title: "NothingMore" });

/** The same for the feed of all sessions. */
export const feedEventSchemas: Readonly<Record<string, TSchema>> = {
	ready: nothing,
	gap: nothing,
	created: feedEvent,
	exited: feedEvent,
	closed: feedEvent,
	lost: feedEvent,
	removed: feedEvent,
};

export type AuditQuery = { after?: number; limit?: number; session?: string; principal?: string; action?: string };
export const auditQuery: TUnsafe<AuditQuery> = schemaOf<AuditQuery>()(
	Type.Object(
		{
			after: Type.Optional(offset),
			limit: Type.Optional(Type.Integer({ minimum: 1, maximum: limits.maxListed })),
			session: Type.Optional(Type.String()),
			principal: Type.Optional(Type.String()),
			action: Type.Optional(Type.String()),
		},
		closed,
	),
);

const auditLine = Type.Object(
	{
		seq: offset,
		time: milliseconds,
		action: Type.String(),
		by: Type.Optional(
			nullable(
				Type.Object({
					id: nullable(Type.String()),
					name: nullable(Type.String()),
					from: Type.String(),
					front: Type.String(),
				}),
			),
		),
		session: Type.Optional(Type.String()),
		workspace: Type.Optional(Type.String()),
		prev: Type.String(),
		hash: Type.String(),
	},
	{ title: "AuditEntry" },
);

/** Each kind of entry has members of its own besides. */
export const auditList: TUnsafe<AuditList> = Type.Unsafe<AuditList>(
	Type.Object(
		{
			entries: Type.Array(auditLine),
			next: nullable(offset),
			head: Type.Object({ seq: offset, hash: Type.String() }),
		},
		{ title: "AuditList" },
	),
);
