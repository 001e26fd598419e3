/** What a session's program does, and what it waits for, as it is answered. */

import Type, { type TUnsafe } from "typebox";
import type { ProgramState } from "../../protocol/feed.ts";
import { milliseconds, nullable, offset, schemaOf } from "./schemas.ts";

const activity = Type.Union([
	Type.Literal("busy"),
	Type.Literal("running"),
	Type.Literal("flow-stopped"),
	Type.Literal("waiting"),
	Type.Literal("prompt"),
	Type.Literal("tui"),
	Type.Literal("listening"),
	Type.Literal("disk"),
	Type.Literal("stopped"),
	Type.Literal("sleeping"),
	Type.Literal("unknown"),
	Type.Literal("ended"),
]);
const confidence = Type.Union([Type.Literal("sure"), Type.Literal("likely"), Type.Literal("guess")]);

export const programState: TUnsafe<ProgramState> = schemaOf<ProgramState>()(
	Type.Object(
		{
			state: activity,
			kind: nullable(Type.String()),
			confidence,
			program: nullable(Type.String()),
			pid: nullable(Type.Integer()),
			cwd: nullable(Type.String()),
			processes: Type.Optional(Type.Integer()),
			lastLine: Type.String(),
			offset,
			episode: offset,
			since: milliseconds,
		},
		{
			title: "ProgramState",
			examples: [
				{
					state: "waiting",
					kind: "line",
					confidence: "sure",
					program: "apt-get",
					pid: 4711,
					cwd: "/srv/app",
					processes: 3,
					lastLine: "Do you want to continue? [Y/n]",
					offset: 1834,
					episode: 3,
					since: 1_789_000_004_200,
				},
			],
		},
	),
);
