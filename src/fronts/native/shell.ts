/** Commands of a living shell over HTTP: run one, and tell of those that were run. */

import { randomUUID } from "node:crypto";
import { SessionError } from "../../core/errors.ts";
import type * as core from "../../core/run.ts";
import type { Session } from "../../core/session.ts";
import type * as marks from "../../core/shell-marks.ts";
import { shellText, unfinishedBytes } from "../../core/shell-output.ts";
import type { CommandList, RunAnswer, RunCommand, ShellCommand } from "../../protocol/acts.ts";
import { fenceHeader, idempotencyKeyHeader, limits } from "../../protocol/messages.ts";
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
			const { timeoutMs = limits.runMs, limit = limits.runOutputBytes, since = 0 } = request.body;
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
				const hold = bytesOf(caller, reply, hosting);
				const reading = { ...flowFor(caller, session, "lossless"), signal: patience.signal, hold };
				const { bytes, ...told } = await readEnd(session, answer, { since, limit }, reading);
				traffic.bytesOut += bytes.byteLength;
				const call = origin ? `${origin.stream}:${origin.position}` : randomUUID();
				const { takeovers, fence: now } = await controlSince(session, caller.name, call);
				return {
					status: answer.status,
					// Keepers that are older run nothing otherwise, and do not say it.
					exact: answer.exact ?? true,
					seq: answer.seq,
					exitCode: answer.exitCode,
					cwd: answer.cwd,
					...told,
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

/** The last bytes of what a command wrote; what goes on is told to the last character that is whole. */
async function readEnd(
	session: Session,
	{ output: { from, to: end }, status }: core.RunAnswer,
	{ since, limit }: { readonly since: number; readonly limit: number },
	reading: Parameters<typeof readRange>[2],
): Promise<Pick<RunAnswer, "output" | "text" | "omitted"> & { readonly bytes: Uint8Array }> {
	const begin = Math.min(Math.max(from, since, end - limit), end);
	const part = begin < end ? await readRange(session, { since: begin, max: end - begin, end }, reading) : undefined;
	const read = part?.bytes ?? new Uint8Array();
	const isGoingOn = status === "running" || status === "waiting";
	const bytes = isGoingOn ? read.subarray(0, read.byteLength - unfinishedBytes(read)) : read;
	const to = end - (read.byteLength - bytes.byteLength);
	const omitted = Math.max(0, to - Math.max(from, since) - bytes.byteLength);
	return { output: { from, to }, text: shellText(bytes), omitted, bytes };
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
}: marks.ShellCommand): ShellCommand {
	return { seq, command, exitCode, cwd, output: { from, to }, startedAt, endedAt };
}
