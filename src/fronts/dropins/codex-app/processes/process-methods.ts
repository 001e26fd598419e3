/** `process/*`, experimental variants of `command/exec`: answered at the start, never sandboxed (contract §6.1). */

import { list, object, optional, string, unlessAbsent } from "../../../json-rpc/params.ts";
import { commandEnvironment } from "../environment.ts";
import { invalidParams, invalidRequest } from "../errors.ts";
import type { Methods } from "../methods.ts";
import { absolutePath } from "../sandbox.ts";
import type { CommandMethodsParts } from "./command-methods.ts";
import { processWording as wording } from "./error-text.ts";
import {
	byteCount,
	changedEnvironment,
	checkSize,
	DEFAULT_CAP_BYTES,
	DEFAULT_TIMEOUT_MS,
	flag,
	milliseconds,
	resizeTo,
	terminalSize,
	write,
	writeTo,
} from "./params.ts";
import type { Ending } from "./process.ts";
import type { Processes } from "./processes.ts";
import { toStartRequest } from "./start-request.ts";

export type ProcessMethodsParts = CommandMethodsParts & {
	/** Sends a notification. */
	readonly notify: (method: string, params: object) => void;
	readonly report: (problem: unknown) => void;
};

/** `process/spawn`: starts a process and answers when it runs. `process/exited` reports its end. */
const spawn = object({
	command: list(string),
	processHandle: string,
	cwd: absolutePath,
	tty: flag,
	streamStdin: flag,
	streamStdoutStderr: flag,
	/** Null means no limit. */
	outputBytesCap: unlessAbsent(optional(byteCount, null), DEFAULT_CAP_BYTES),
	timeoutMs: unlessAbsent(optional(milliseconds, null), DEFAULT_TIMEOUT_MS),
	env: changedEnvironment,
	size: optional(terminalSize, null),
});

const target = { processHandle: string };
const writing = object({ ...target, ...write });
const resizing = object({ ...target, size: terminalSize });
const killing = object(target);

type Spawn = ReturnType<typeof spawn>;

const keyOf = (handle: string) => `process ${handle}`;

export function createProcessMethods(parts: ProcessMethodsParts): Methods {
	const { processes, notify, report } = parts;
	return new Map([
		[
			"process/spawn",
			(params) => {
				const decoded = spawn(params);
				const { processHandle } = decoded;
				let answered = () => {};
				const startAnswered = new Promise<void>((resolve) => {
					answered = resolve;
				});
				const exited = (ending: Ending) => notify("process/exited", { processHandle, ...ending });
				return {
					key: keyOf(processHandle),
					experimental: "process/spawn",
					run: async () => {
						const { ended } = await start(decoded, startAnswered, parts);
						Promise.all([ended, startAnswered])
							.then(([ending]) => exited(ending))
							.catch(report);
						return {};
					},
					answered,
				};
			},
		],
		[
			"process/writeStdin",
			(params) => {
				const decoded = writing(params);
				const find = () => processes.get(decoded.processHandle, wording);
				return {
					key: keyOf(decoded.processHandle),
					experimental: "process/writeStdin",
					run: (pass) => writeTo(find, decoded, wording, pass),
				};
			},
		],
		[
			"process/resizePty",
			(params) => {
				const { processHandle, size } = resizing(params);
				const find = () => processes.get(processHandle, wording);
				return {
					key: keyOf(processHandle),
					experimental: "process/resizePty",
					run: (pass) => resizeTo(find, size, wording, pass),
				};
			},
		],
		[
			"process/kill",
			(params) => {
				const { processHandle } = killing(params);
				return {
					key: keyOf(processHandle),
					experimental: "process/kill",
					run: async () => {
						processes.get(processHandle, wording).terminate();
						return {};
					},
				};
			},
		],
	]);
}

async function start(
	params: Spawn,
	startAnswered: Promise<void>,
	parts: ProcessMethodsParts,
): ReturnType<Processes["start"]> {
	const { command, processHandle: id, cwd, tty, size, timeoutMs, outputBytesCap: cap } = params;
	const { drainMs, unreadBytes } = parts;
	if (command.length === 0) throw invalidRequest("command must not be empty");
	if (id === "") throw invalidRequest("processHandle must not be empty");
	if (size !== null && !tty) throw invalidParams(wording.sizeWithoutTty);
	if (timeoutMs !== null && timeoutMs < 0) throw invalidParams(wording.negativeTimeout(timeoutMs));
	if (size !== null) checkSize(size, wording);
	const isStreamed = tty || params.streamStdoutStderr;
	const isWritable = tty || params.streamStdin;
	const env = commandEnvironment(parts.environment(), params.env, { isNetworkRestricted: false });
	const program = { command, cwd, env, tty, size, isWritable, timeoutMs, id };
	const launch = async () => parts.launch(toStartRequest({ ...program, drainMs, unreadBytes }));
	return parts.processes.start(
		{ id, isWritable, isStreamed, cap, isOverdue: timeoutMs === 0, startAnswered, launch },
		wording,
	);
}
