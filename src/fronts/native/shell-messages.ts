/** How a command is run in a living shell, and what is told of it and of those before. */

import Type, { type TUnsafe } from "typebox";
import type { CommandList, CommandsQuery, RunAnswer, RunCommand, ShellCommand } from "../../protocol/acts.ts";
import { limits } from "../../protocol/messages.ts";
import { takeover } from "./act-messages.ts";
import { closed, milliseconds, NO_NUL, nullable, offset, schemaOf } from "./schemas.ts";
import { programState } from "./state-messages.ts";

const seq = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });

export const runCommand: TUnsafe<RunCommand> = schemaOf<RunCommand>()(
	Type.Object(
		{
			command: Type.Optional(Type.String({ minLength: 1, pattern: NO_NUL })),
			resume: Type.Optional(seq),
			timeoutMs: Type.Optional(milliseconds),
			limit: Type.Optional(Type.Integer({ minimum: 0, maximum: limits.maxOutputBytes })),
			since: Type.Optional(offset),
		},
		{ ...closed, title: "RunCommand", examples: [{ command: "make test", timeoutMs: 60_000 }] },
	),
);

export const runAnswer: TUnsafe<RunAnswer> = schemaOf<RunAnswer>()(
	Type.Object(
		{
			status: Type.Union([
				Type.Literal("ended"),
				Type.Literal("running"),
				Type.Literal("waiting"),
				Type.Literal("incomplete"),
				Type.Literal("rejected"),
				Type.Literal("busy"),
			]),
			exact: Type.Boolean(),
			seq: nullable(seq),
			exitCode: nullable(Type.Integer()),
			cwd: nullable(Type.String()),
			output: Type.Object({ from: offset, to: offset }),
			text: Type.String(),
			omitted: offset,
			front: nullable(programState),
			next: offset,
			takeovers: Type.Array(takeover),
			fence: offset,
		},
		{
			title: "RunAnswer",
			examples: [
				{
					status: "ended",
					exact: true,
					seq: 3,
					exitCode: 1,
					cwd: "/srv/app",
					output: { from: 1834, to: 1846 },
					text: "no such file\n",
					omitted: 0,
					front: null,
					next: 27,
					takeovers: [],
					fence: 0,
				},
			],
		},
	),
);

export const commandsQuery: TUnsafe<CommandsQuery> = schemaOf<CommandsQuery>()(
	Type.Object(
		{
			after: Type.Optional(offset),
			limit: Type.Optional(Type.Integer({ minimum: 1, maximum: limits.maxListed })),
		},
		closed,
	),
);

export const shellCommand: TUnsafe<ShellCommand> = schemaOf<ShellCommand>()(
	Type.Object(
		{
			seq,
			command: nullable(Type.String()),
			exitCode: nullable(Type.Integer()),
			cwd: nullable(Type.String()),
			output: Type.Object({ from: offset, to: nullable(offset) }),
			startedAt: milliseconds,
			endedAt: nullable(milliseconds),
		},
		{ title: "ShellCommand" },
	),
);

export const commandList: TUnsafe<CommandList> = schemaOf<CommandList>()(
	Type.Object({ commands: Type.Array(shellCommand), proven: Type.Boolean() }, { title: "CommandList" }),
);
