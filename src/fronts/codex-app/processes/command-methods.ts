/** `command/exec` and what is done to its commands: parameters to calls, in the order in which faults are found (contract §2.2). */

import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { SessionError } from "../../../core/errors.ts";
import { isConfined, type SandboxPolicy, type SandboxSupport } from "../../../core/sandbox.ts";
import type { Session } from "../../../core/session.ts";
import type { StartRequest } from "../../front.ts";
import { RpcError, rpcCodes } from "../../json-rpc/error.ts";
import { type Decode, list, object, optional, string, text } from "../../json-rpc/params.ts";
import { commandEnvironment } from "../environment.ts";
import { conflicting, refused } from "../errors.ts";
import type { Methods } from "../methods.ts";
import { inWorkspace, isNetworkRestricted, profilePolicy, sandboxPolicy } from "../sandbox.ts";
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
import { commandWording as wording } from "./wording.ts";

export type Launch = (request: StartRequest) => Promise<Session>;

export type CommandMethodsParts = {
	readonly processes: Processes;
	readonly launch: Launch;
	/** What can be enforced here. */
	readonly sandbox: SandboxSupport;
	/** What a client that says nothing gets. */
	readonly policy: SandboxPolicy;
	/** The server's own environment, as far as commands may have it. */
	readonly environment: () => Readonly<Record<string, string>>;
	readonly cwd: string;
	/** Whether commands are run here at all. */
	readonly isExecutor: boolean;
	readonly drainMs: number;
	readonly unreadBytes: number;
	readonly collectedBytes: number;
};

/** `command/exec`: runs a command, and answers when it has ended. */
const exec = object({
	/** The program and its arguments; no shell. A name is looked up in the PATH that the command gets. */
	command: list(string),
	/** How the client calls it on this connection, until it is answered; needed for all that is streamed. */
	processId: optional(string, null),
	/** On a terminal, which is always streamed in both directions. */
	tty: flag,
	/** Takes input from `command/exec/write`; else there is none. */
	streamStdin: flag,
	/** Tells its output in `command/exec/outputDelta`; else it is in the answer. */
	streamStdoutStderr: flag,
	/** How much of each stream is wanted, in bytes. */
	outputBytesCap: optional(byteCount, null),
	disableOutputCap: flag,
	/** When it is killed, and answered with 124. */
	timeoutMs: optional(milliseconds, null),
	disableTimeout: flag,
	/** Relative to the server's own. */
	cwd: optional(text("path string"), null),
	env: changedEnvironment,
	size: optional(terminalSize, null),
	sandboxPolicy: optional(sandboxPolicy, null),
	/** A policy by its name; experimental. */
	permissionProfile: optional(string, null),
});

const target = { processId: string } satisfies Record<string, Decode<unknown>>;
/** `command/exec/write`: gives it input, and ends its input then if it is told to. */
const writing = object({ ...target, ...write });
/** `command/exec/resize`: gives its terminal another size. */
const resizing = object({ ...target, size: terminalSize });
/** `command/exec/terminate`: kills it. */
const terminating = object(target);

type Exec = ReturnType<typeof exec>;

const keyOf = (processId: string | null) => (processId === null ? undefined : `command ${processId}`);

export function createCommandMethods(parts: CommandMethodsParts): Methods {
	const { processes } = parts;
	return new Map([
		[
			"command/exec",
			(params) => {
				const decoded = exec(params);
				return {
					key: keyOf(decoded.processId),
					experimental: decoded.permissionProfile === null ? undefined : "command/exec.permissionProfile",
					run: async (pass) => {
						const { ended } = await start(decoded, parts);
						pass();
						return answerOf(await ended, decoded, parts);
					},
				};
			},
		],
		[
			"command/exec/write",
			(params) => {
				const decoded = writing(params);
				const { processId } = decoded;
				const find = () => processes.get(processId, wording);
				return { key: keyOf(processId), run: (pass) => writeTo(find, decoded, wording, pass) };
			},
		],
		[
			"command/exec/resize",
			(params) => {
				const { processId, size } = resizing(params);
				const find = () => processes.get(processId, wording);
				return {
					key: keyOf(processId),
					run: (pass) => resizeTo(find, size, wording, pass),
				};
			},
		],
		[
			"command/exec/terminate",
			(params) => {
				const { processId } = terminating(params);
				return {
					key: keyOf(processId),
					run: async () => {
						processes.get(processId, wording).terminate();
						return {};
					},
				};
			},
		],
	]);
}

async function start(params: Exec, parts: CommandMethodsParts): ReturnType<Processes["start"]> {
	const { command, processId, tty, size, timeoutMs } = params;
	const { drainMs, unreadBytes } = parts;
	if (!parts.isExecutor) throw new RpcError(rpcCodes.internal, "local environment is not configured");
	if (command.length === 0) throw refused("command must not be empty");
	if (params.permissionProfile !== null && params.sandboxPolicy !== null)
		throw refused("`permissionProfile` cannot be combined with `sandboxPolicy`");
	if (size !== null && !tty) throw conflicting(wording.sizeWithoutTty);
	if (params.outputBytesCap !== null && params.disableOutputCap)
		throw conflicting("command/exec cannot set both outputBytesCap and disableOutputCap");
	if (timeoutMs !== null && params.disableTimeout)
		throw conflicting("command/exec cannot set both timeoutMs and disableTimeout");
	if (timeoutMs !== null && timeoutMs < 0) throw conflicting(wording.negativeTimeout(timeoutMs));
	const cwd = directory(params.cwd, parts.cwd);
	const sandbox = policyOf(params, parts);
	if (size !== null) checkSize(size, wording);
	const isStreamed = tty || params.streamStdoutStderr;
	const isWritable = tty || params.streamStdin;
	if ((isStreamed || isWritable) && processId === null)
		throw refused("command/exec tty or streaming requires a client-supplied processId");

	const limitMs = params.disableTimeout ? null : (timeoutMs ?? DEFAULT_TIMEOUT_MS);
	const restriction = { isNetworkRestricted: isNetworkRestricted(sandbox) };
	const env = commandEnvironment(parts.environment(), params.env, restriction);
	const cap = capOf(params);
	const program = { command, cwd, env, tty, size, isWritable, timeoutMs: limitMs, id: processId, sandbox };
	const launch = async () =>
		parts.launch(toStartRequest({ ...program, drainMs, unreadBytes })).catch(explainSandbox(sandbox));
	return parts.processes.start(
		{ id: processId, isWritable, isStreamed, cap, isOverdue: limitMs === 0, launch },
		wording,
	);
}

/** An answer can't say that it is not all; so one that is cut where its client did not ask for it is none. */
function answerOf(ending: Ending, params: Exec, { collectedBytes }: CommandMethodsParts): object {
	const { exitCode, stdout, stderr, stdoutCapReached, stderrCapReached } = ending;
	const isCollected = !params.tty && !params.streamStdoutStderr;
	const isMoreWanted = (capOf(params) ?? Number.POSITIVE_INFINITY) > collectedBytes;
	if (isCollected && isMoreWanted && (stdoutCapReached || stderrCapReached)) {
		const message = `the output is larger than ${collectedBytes} bytes, which is all that an answer can hold; stream it`;
		throw new RpcError(rpcCodes.internal, message);
	}
	return { exitCode, stdout, stderr };
}

function capOf({ outputBytesCap, disableOutputCap }: Exec): number | null {
	return disableOutputCap ? null : (outputBytesCap ?? DEFAULT_CAP_BYTES);
}

/** As a shell would take it. */
function directory(asked: string | null, own: string): string {
	if (asked === null) return own;
	const path = /^~(\/|$)/.test(asked) ? join(homedir(), asked.slice(1)) : asked;
	return resolve(own, path);
}

/** With a policy the workspace is the server's directory, with a profile the command's (contract §3.1). */
function policyOf({ permissionProfile, sandboxPolicy }: Exec, parts: CommandMethodsParts): SandboxPolicy {
	const isProfile = permissionProfile !== null;
	const policy = isProfile ? profilePolicy(permissionProfile) : inWorkspace(sandboxPolicy ?? parts.policy, parts.cwd);
	if (parts.sandbox.isEnforced || !isConfined(policy)) return policy;
	const what = isProfile ? "permission profile" : "sandbox policy";
	throw refused(`invalid ${what}: ${policy.type} can't be enforced here: ${parts.sandbox.reason}`);
}

/** A sandbox that can't be made for this command is no fault of its program. */
function explainSandbox(policy: SandboxPolicy): (thrown: unknown) => never {
	return (thrown) => {
		const isRefused = thrown instanceof SessionError && ["invalid_argument", "unsupported"].includes(thrown.code);
		if (!isRefused || !isConfined(policy)) throw thrown;
		throw new RpcError(rpcCodes.internal, `exec failed: ${thrown.message}`, { cause: thrown });
	};
}
