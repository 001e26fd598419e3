/** Commands of a living shell over HTTP: run one, and tell of those that were run. */

import { randomUUID } from "node:crypto";
import { SessionError } from "../../core/errors.ts";
import type * as core from "../../core/shell-marks.ts";
import { shellText } from "../../core/shell-output.ts";
import {
	type CommandList,
	fenceHeader,
	idempotencyKeyHeader,
	limits,
	type RunAnswer,
	type RunCommand,
	type ShellCommand,
} from "../../protocol/messages.ts";
import { bytesOf } from "../answer-bytes.ts";
import { flowFor, type Hosting, takeReader, whenOver } from "../front.ts";
import { patienceOf } from "../patience.ts";
import { describeProgram } from "../program-state.ts";
import { controlSince } from "../takeover.ts";
import { fenceOf, parseKey } from "./input.ts";
import type { Traffic } from "./metrics.ts";
import type { NativeApp, NativeOptions } from "./options.ts";
import { readRange } from "./output.ts";
import { findSession, placeOf, principalOf } from "./request.ts";
import { idParams } from "./session-messages.ts";
import { commandList, commandsQuery, runAnswer, runCommand } from "./shell-messages.ts";

export function addShell(app: NativeApp, { sessions }: NativeOptions, hosting: Hosting, traffic: Traffic): void {
	app.post(
		"/v1/sessions/:id/run",
		{
			config: {
				policy: "operate",
				operation: "runCommand",
				summary: "Run a command in a living shell, or go on waiting for one",
				headers: [idempotencyKeyHeader, fenceHeader],
			},
			schema: { params: idParams, body: runCommand, response: { 200: runAnswer } },
		},
		async (request, reply): Promise<RunAnswer> => {
			const session = findSession(sessions, request);
			const caller = principalOf(request);
			const { timeoutMs = limits.runMs, limit = limits.runOutputBytes } = request.body;
			const command = wanted(request.body);
			const origin = parseKey(request.headers[idempotencyKeyHeader]);
			const fence = await fenceOf(session, request);
			whenOver(reply, takeReader(request, placeOf(session), hosting, "read"));
			const patience = patienceOf(reply, hosting);
			try {
				const options = { ...(origin ? { origin } : {}), ...(fence === undefined ? {} : { fence }) };
				const waitMs = Math.min(timeoutMs, limits.maxWaitMs);
				const answer = await session.run({ command, timeoutMs: waitMs, options }, patience.signal);
				if (typeof command === "string") traffic.bytesIn += Buffer.byteLength(command);
				const { from, to } = answer.output;
				const since = Math.max(from, to - limit);
				const hold = bytesOf(caller, reply, hosting);
				const reading = { ...flowFor(caller, session, "lossless"), signal: patience.signal, hold };
				const part = since < to ? await readRange(session, { since, max: to - since, end: to }, reading) : undefined;
				traffic.bytesOut += part?.bytes.byteLength ?? 0;
				const call = origin ? `${origin.stream}:${origin.position}` : randomUUID();
				const { takeovers, fence: now } = await controlSince(session, caller.name, call);
				return {
					status: answer.status,
					// Keepers that are older run nothing otherwise, and do not say it.
					exact: answer.exact ?? true,
					seq: answer.seq,
					exitCode: answer.exitCode,
					cwd: answer.cwd,
					output: { from, to },
					text: part ? shellText(part.bytes) : "",
					omitted: to - from - (part?.bytes.byteLength ?? 0),
					front: answer.front && (await describeProgram(session, answer.front, patience.signal)),
					next: answer.next,
					takeovers: [...takeovers],
					fence: now,
				};
			} finally {
				patience.end();
			}
		},
	);

	app.get(
		"/v1/sessions/:id/commands",
		{
			config: { policy: "read", operation: "listCommands", summary: "List what a shell has run" },
			schema: { params: idParams, querystring: commandsQuery, response: { 200: commandList } },
		},
		async (request): Promise<CommandList> => {
			const { after = 0, limit = limits.listed } = request.query;
			const { commands, isProven } = await findSession(sessions, request).commands();
			const later = commands.filter(({ seq }) => seq > after);
			return { commands: later.slice(-limit).map(commandMessage), proven: isProven };
		},
	);
}

function wanted({ command, resume }: RunCommand): string | number {
	const [one, other] = [command, resume].filter((each) => each !== undefined);
	if (one !== undefined && other === undefined) return one;
	throw new SessionError("invalid_argument", "command, resume: exactly one of the two is required", {
		hint: "command is what to run, resume the number of a command that runs",
	});
}

export function commandMessage({
	seq,
	command,
	exitCode,
	cwd,
	from,
	to,
	startedAt,
	endedAt,
}: core.ShellCommand): ShellCommand {
	return { seq, command, exitCode, cwd, output: { from, to }, startedAt, endedAt };
}
