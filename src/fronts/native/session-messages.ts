/** What the native API says about sessions as a whole, and the schemas that check it. */

import Type, { type TUnsafe } from "typebox";
import {
	type AttachedList,
	type CreateSession,
	type Detached,
	type DetachSession,
	type KillSession,
	limits,
	type SessionList,
	type SessionMessage,
	type UpdateSession,
} from "../../protocol/messages.ts";
import { PRINTABLE } from "../../protocol/printable.ts";
import { sessionLease } from "./act-messages.ts";
import { overview } from "./overview-messages.ts";
import { sandbox } from "./sandbox-message.ts";
import {
	bytes,
	closed,
	displayName,
	exit,
	flag,
	id,
	milliseconds,
	NO_NUL,
	nullable,
	offset,
	path,
	schemaOf,
	sessionState,
	size,
} from "./schemas.ts";

const text = Type.String({ pattern: NO_NUL });
const variableName = Type.String({ pattern: "^[^=\\u0000]+$" });
const mode = Type.Union([Type.Literal("pty"), Type.Literal("pipe")]);
const labelText = Type.String({ maxLength: limits.labelLength, pattern: PRINTABLE });

const color = Type.String({ pattern: "^#[0-9A-Fa-f]{6}$" });
const sizePolicy = Type.Union([
	Type.Literal("latest"),
	Type.Literal("smallest"),
	Type.Literal("fixed"),
	Type.Literal("manual"),
]);

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
			sizePolicy: Type.Optional(sizePolicy),
			colors: Type.Optional(
				Type.Object({ foreground: Type.Optional(color), background: Type.Optional(color) }, closed),
			),
			awaitsTerminal: Type.Optional(Type.Boolean()),
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
			holdOutput: Type.Optional(Type.Boolean()),
			retain: Type.Optional(
				Type.Object({ memoryBytes: Type.Optional(bytes), journalBytes: Type.Optional(bytes) }, closed),
			),
			stdin: Type.Optional(Type.Union([Type.Literal("open"), Type.Literal("closed")])),
			shellHooks: Type.Optional(Type.Boolean()),
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

const exampleSession: SessionMessage = {
	id: "k3v9x0q2m4abt7w1dz",
	name: "build",
	state: "running",
	argv: ["make", "test"],
	cwd: "/srv/app",
	mode: "pty",
	size: { cols: 80, rows: 24 },
	sizePolicy: "latest",
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
			state: sessionState,
			argv: Type.Array(Type.String()),
			cwd: Type.String(),
			mode,
			size: Type.Object({ cols: size, rows: size }),
			sizePolicy,
			pid: nullable(Type.Integer()),
			offsets: Type.Object({ oldest: offset, end: offset }),
			exit: nullable(exit),
			createdAt: milliseconds,
			endedAt: nullable(milliseconds),
			attachments: Type.Integer(),
			unreachable: Type.Optional(Type.Literal(true)),
			lease: sessionLease,
			activeAt: nullable(Type.Integer()),
			labels: Type.Record(Type.String(), Type.String()),
			workspace: Type.String(),
			task: nullable(Type.String()),
			durable: Type.Boolean(),
			retain: Type.Object({ memoryBytes: bytes, journalBytes: bytes }),
			timeoutMs: milliseconds,
			idleTimeoutMs: milliseconds,
			idleExemptJobs: Type.Boolean(),
			overview: Type.Optional(overview),
		},
		{ title: "Session", examples: [exampleSession] },
	),
);

export const sessionList: TUnsafe<SessionList> = schemaOf<SessionList>()(
	Type.Object({ sessions: Type.Array(session), next: nullable(Type.String()) }, { title: "SessionList" }),
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
	overview?: "0" | "1";
};
export const listQuery: TUnsafe<ListQuery> = schemaOf<ListQuery>()(
	Type.Object(
		{
			state: Type.Optional(Type.Array(sessionState)),
			workspace: Type.Optional(Type.String()),
			task: Type.Optional(Type.String()),
			name: Type.Optional(Type.String()),
			label: Type.Optional(Type.Array(Type.String())),
			order: Type.Optional(Type.Union([Type.Literal("oldest"), Type.Literal("newest")])),
			after: Type.Optional(Type.String()),
			limit: Type.Optional(Type.Integer({ minimum: 1, maximum: limits.maxListed })),
			overview: Type.Optional(flag),
		},
		closed,
	),
);

const killSignal = Type.String({ pattern: "^(SIG)?[A-Z][A-Z0-9+]{1,15}$", description: "a name such as TERM" });
const graceMs = Type.Integer({ minimum: 0, maximum: limits.maxGraceMs });

export const updateSession: TUnsafe<UpdateSession> = schemaOf<UpdateSession>()(
	Type.Object(
		{ name: Type.Optional(nullable(displayName)), sizePolicy: Type.Optional(sizePolicy) },
		{ ...closed, minProperties: 1, title: "UpdateSession" },
	),
);
export const detachSession: TUnsafe<DetachSession> = schemaOf<DetachSession>()(
	Type.Object({ keepWriter: Type.Optional(Type.Boolean()) }, { ...closed, title: "DetachSession" }),
);
export const attachedList: TUnsafe<AttachedList> = schemaOf<AttachedList>()(
	Type.Object(
		{ attached: Type.Array(Type.Object({ name: Type.String(), since: milliseconds }, { title: "Attached" })) },
		{ title: "AttachedList" },
	),
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

export type SessionQuery = { overview?: "0" | "1" };
export const sessionQuery: TUnsafe<SessionQuery> = schemaOf<SessionQuery>()(
	Type.Object({ overview: Type.Optional(flag) }, closed),
);

export type IdParams = { id: string };
export const idParams: TUnsafe<IdParams> = schemaOf<IdParams>()(Type.Object({ id: Type.String() }));
