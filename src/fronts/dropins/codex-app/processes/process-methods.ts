/** `process/*`, experimental variants of `command/exec`: answered at the start, never sandboxed (contract §6.1). */

import * as rpc from "../../../json-rpc/params.ts";
import { commandEnvironment } from "../environment.ts";
import { invalidParams, invalidRequest } from "../errors.ts";
import type { Methods } from "../methods.ts";
import { absolutePath } from "../sandbox.ts";
import type { CommandMethodsParts } from "./command-methods.ts";
import { createControlMethods } from "./control-methods.ts";
import { processWording as wording } from "./error-text.ts";
import * as shared from "./params.ts";
import type { Ending } from "./process.ts";
import type { Processes } from "./processes.ts";
import { toStartRequest } from "./start-request.ts";

type ProcessMethodsParts = CommandMethodsParts & {
	/** Sends a notification. */
	readonly notify: (method: string, params: object) => void;
	readonly report: (problem: unknown) => void;
};

/** `process/spawn`: starts a process and answers when it runs. `process/exited` reports its end. */
const spawn = rpc.object({
	command: rpc.list(rpc.string),
	processHandle: rpc.string,
	cwd: absolutePath,
	tty: shared.flag,
	streamStdin: shared.flag,
	streamStdoutStderr: shared.flag,
	/** Null means no limit. */
	outputBytesCap: rpc.unlessAbsent(rpc.optional(shared.byteCount, null), shared.DEFAULT_CAP_BYTES),
	timeoutMs: rpc.unlessAbsent(rpc.optional(shared.milliseconds, null), shared.DEFAULT_TIMEOUT_MS),
	env: shared.changedEnvironment,
	size: rpc.optional(shared.terminalSize, null),
});

const target = rpc.object({ processHandle: rpc.string });

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
		...createControlMethods(processes, {
			id: (params) => target(params).processHandle,
			keyOf,
			wording,
			isExperimental: true,
			write: "process/writeStdin",
			resize: "process/resizePty",
			terminate: "process/kill",
		}),
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
	if (size !== null) shared.checkSize(size, wording);
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
