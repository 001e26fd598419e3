/** Commands of a running shell over HTTP. */

import { randomUUID } from "node:crypto";
import { limits } from "../../api/messages.ts";
import type { RunAnswer, RunCommand, RunPart } from "../../api/types.ts";
import { SessionError } from "../../core/errors.ts";
import type { Session } from "../../core/session/session.ts";
import type * as core from "../../core/shell/run-command.ts";
import { shellBytes, shellText, unfinishedBytes } from "../../core/shell/shell-text.ts";
import { describeProgram } from "../../services/attention/program-state.ts";
import { commandMessage } from "../../services/feed/shell-commands.ts";
import type { TrafficCounters } from "../../services/metrics/traffic.ts";
import { allowedFlow } from "../../services/reading/flow.ts";
import { writeOptions } from "./input/write-options.ts";
import { readRange } from "./output/routes.ts";
import type { Serve } from "./serve.ts";

export function addShell(serve: Serve, traffic: TrafficCounters): void {
	serve("runCommand", async (call) => {
		const { session, request, caller, body, signal } = call;
		const { timeoutMs = limits.runMs, limit = limits.runOutputBytes, since = 0, partFrom } = body;
		const command = commandOf(body);
		const options = await writeOptions(session, request);
		call.startReading();
		const run = { command, timeoutMs: Math.min(timeoutMs, limits.maxWaitMs), options };
		const answer = await session.run(run, signal);
		if (typeof command === "string") traffic.bytesIn += Buffer.byteLength(command);
		const reading = { ...allowedFlow(caller, session, "lossless"), signal, hold: call.holdBytes() };
		const { bytes, ...end } = await readEnd(session, answer, { since, limit }, reading);
		const part = partFrom === undefined ? null : await readPart(session, answer, partFrom, reading);
		traffic.bytesOut += bytes.byteLength + (part === null ? 0 : part.to - part.from);
		const { origin } = options;
		const id = origin ? `${origin.stream}:${origin.position}` : randomUUID();
		const control = await session.controlChanges(caller.name, id);
		const { status, seq, exitCode, cwd, front, next } = answer;
		return {
			status,
			why: status === "busy" ? (answer.why ?? "command") : null,
			// Older keepers run commands only with hooks, and do not report it.
			exact: answer.exact ?? true,
			unhookedBy: answer.unhookedBy ?? null,
			seq,
			exitCode,
			cwd,
			...end,
			part,
			front: front && (await describeProgram(session, front, signal)),
			next,
			takeovers: control.takeovers,
			fence: control.fence,
		};
	});

	serve("listCommands", async ({ session, query: { after = 0, limit = limits.listed } }) => {
		const { commands, isProven } = await session.commands();
		const later = commands.filter(({ seq }) => seq > after);
		return { commands: later.slice(-limit).map(commandMessage), proven: isProven };
	});
}

/** The last bytes of a command's output. While it runs, they end with a whole character. */
async function readEnd(
	session: Session,
	{ output: { from, to: end }, status }: core.RunOutcome,
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

/** Bytes from an offset on. They do not end within a mark, a sequence or a character. */
async function readPart(
	session: Session,
	{ output: { from, to: end }, status }: core.RunOutcome,
	partFrom: number,
	reading: Parameters<typeof readRange>[2],
): Promise<RunPart> {
	const begin = Math.min(Math.max(from, partFrom), end);
	const max = Math.min(limits.runPartBytes, end - begin);
	const found = max > 0 ? await readRange(session, { since: begin, max, end }, reading) : undefined;
	// After a gap, some or all of the bytes may belong to the next prompt.
	const offset = Math.min(found?.offset ?? begin, end);
	const read = found?.bytes.subarray(0, end - offset) ?? new Uint8Array();
	const readTo = offset + read.byteLength;
	const isWhole = readTo >= end && status !== "running" && status !== "waiting";
	const whole = read.byteLength - (isWhole ? 0 : unfinishedBytes(read));
	// A sequence that is longer than a part is split.
	const length = whole === 0 && readTo < end ? read.byteLength : whole;
	return {
		from: offset,
		to: offset + length,
		bytes: Buffer.from(shellBytes(read.subarray(0, length), offset === from)).toString("base64"),
		omitted: offset - begin,
		more: readTo < end,
	};
}

function commandOf({ command, resume }: RunCommand): string | number {
	const [one, other] = [command, resume].filter((each) => each !== undefined);
	if (one !== undefined && other === undefined) return one;
	throw new SessionError("invalid_argument", "command, resume: exactly one of the two is required", {
		hint: "command is what to run, resume the number of a command that runs",
	});
}
