/** `command/exec` and the methods that act on its commands. Checks run in the order of the contract (§2.2). */

import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { SessionError } from "../../../../core/errors.ts";
import { isConfined, type SandboxPolicy, type SandboxSupport } from "../../../../core/process/sandbox-policy.ts";
import type { Session } from "../../../../core/session/session.ts";
import type { StartRequest } from "../../../../services/starts/request.ts";
import { RpcError, rpcCodes } from "../../../json-rpc/errors.ts";
import * as rpc from "../../../json-rpc/params.ts";
import { commandEnvironment } from "../environment.ts";
import { invalidParams, invalidRequest } from "../errors.ts";
import type { Methods } from "../methods.ts";
import { inWorkspace, isNetworkRestricted, profilePolicy, sandboxPolicy } from "../sandbox.ts";
import { createControlMethods } from "./control-methods.ts";
import { commandWording as wording } from "./error-text.ts";
import * as shared from "./params.ts";
import type { Ending } from "./process.ts";
import type { Processes } from "./processes.ts";
import { toStartRequest } from "./start-request.ts";

export type Launch = (request: StartRequest) => Promise<Session>;

export type CommandMethodsParts = {
	readonly processes: Processes;
	readonly launch: Launch;
	/** Policies that this server can enforce. */
	readonly sandbox: SandboxSupport;
	/** Policy when the client names none. */
	readonly policy: SandboxPolicy;
	/** The part of the server's environment that commands may see. */
	readonly environment: () => Readonly<Record<string, string>>;
	readonly cwd: string;
	/** Whether this server runs commands at all. */
	readonly isExecutor: boolean;
	readonly drainMs: number;
	readonly unreadBytes: number;
	readonly collectedBytes: number;
};

/** `command/exec`: runs a command, and answers when it has ended. */
const exec = rpc.object({
	/** Program and arguments, without a shell. The program is looked up in the command's PATH. */
	command: rpc.list(rpc.string),
	/** The client's name for the command on this connection, until it is answered. Required for streaming. */
	processId: rpc.optional(rpc.string, null),
	/** Runs on a terminal, which always streams both ways. */
	tty: shared.flag,
	/** Accepts `command/exec/write`; otherwise there is no input. */
	streamStdin: shared.flag,
	/** Sends output as `command/exec/outputDelta`; otherwise it is in the answer. */
	streamStdoutStderr: shared.flag,
	/** Limit per stream, in bytes. */
	outputBytesCap: rpc.optional(shared.byteCount, null),
	disableOutputCap: shared.flag,
	/** The command is killed after this time; its exit code is 124. */
	timeoutMs: rpc.optional(shared.milliseconds, null),
	disableTimeout: shared.flag,
	/** Relative to the server's directory. */
	cwd: rpc.optional(rpc.text("path string"), null),
	env: shared.changedEnvironment,
	size: rpc.optional(shared.terminalSize, null),
	sandboxPolicy: rpc.optional(sandboxPolicy, null),
	/** A policy by name; experimental. */
	permissionProfile: rpc.optional(rpc.string, null),
});

const target = rpc.object({ processId: rpc.string });

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
		...createControlMethods(processes, {
			id: (params) => target(params).processId,
			keyOf,
			wording,
			isExperimental: false,
			write: "command/exec/write",
			resize: "command/exec/resize",
			terminate: "command/exec/terminate",
		}),
	]);
}

async function start(params: Exec, parts: CommandMethodsParts): ReturnType<Processes["start"]> {
	const { command, processId, tty, size, timeoutMs } = params;
	const { drainMs, unreadBytes } = parts;
	if (!parts.isExecutor) throw new RpcError(rpcCodes.internal, "local environment is not configured");
	if (command.length === 0) throw invalidRequest("command must not be empty");
	if (params.permissionProfile !== null && params.sandboxPolicy !== null)
		throw invalidRequest("`permissionProfile` cannot be combined with `sandboxPolicy`");
	if (size !== null && !tty) throw invalidParams(wording.sizeWithoutTty);
	if (params.outputBytesCap !== null && params.disableOutputCap)
		throw invalidParams("command/exec cannot set both outputBytesCap and disableOutputCap");
	if (timeoutMs !== null && params.disableTimeout)
		throw invalidParams("command/exec cannot set both timeoutMs and disableTimeout");
	if (timeoutMs !== null && timeoutMs < 0) throw invalidParams(wording.negativeTimeout(timeoutMs));
	const cwd = directory(params.cwd, parts.cwd);
	const sandbox = policyOf(params, parts);
	if (size !== null) shared.checkSize(size, wording);
	const isStreamed = tty || params.streamStdoutStderr;
	const isWritable = tty || params.streamStdin;
	if ((isStreamed || isWritable) && processId === null)
		throw invalidRequest("command/exec tty or streaming requires a client-supplied processId");

	const limitMs = params.disableTimeout ? null : (timeoutMs ?? shared.DEFAULT_TIMEOUT_MS);
	const restriction = { isNetworkRestricted: isNetworkRestricted(sandbox) };
	const env = commandEnvironment(parts.environment(), params.env, restriction);
	const cap = capOf(params);
	// If neither client nor server names a restriction, the workspace decides.
	const isAsked = params.sandboxPolicy !== null || params.permissionProfile !== null || isConfined(sandbox);
	const asked = isAsked ? { sandbox } : {};
	const program = { command, cwd, env, tty, size, isWritable, timeoutMs: limitMs, id: processId, ...asked };
	const launch = async () =>
		parts.launch(toStartRequest({ ...program, drainMs, unreadBytes })).catch(explainSandbox(sandbox));
	return parts.processes.start(
		{ id: processId, isWritable, isStreamed, cap, isOverdue: limitMs === 0, launch },
		wording,
	);
}

/** An answer has no field for truncation, so output that is cut without the client asking for it fails the request. */
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
	return disableOutputCap ? null : (outputBytesCap ?? shared.DEFAULT_CAP_BYTES);
}

/** Expands `~` and resolves relative paths, as a shell does. */
function directory(asked: string | null, own: string): string {
	if (asked === null) return own;
	const path = /^~(\/|$)/.test(asked) ? join(homedir(), asked.slice(1)) : asked;
	return resolve(own, path);
}

/** A policy's workspace is the server's directory; a profile's is the command's (contract §3.1). */
function policyOf({ permissionProfile, sandboxPolicy }: Exec, parts: CommandMethodsParts): SandboxPolicy {
	const isProfile = permissionProfile !== null;
	const policy = isProfile ? profilePolicy(permissionProfile) : inWorkspace(sandboxPolicy ?? parts.policy, parts.cwd);
	if (parts.sandbox.isEnforced || !isConfined(policy)) return policy;
	const what = isProfile ? "permission profile" : "sandbox policy";
	throw invalidRequest(`invalid ${what}: ${policy.type} can't be enforced here: ${parts.sandbox.reason}`);
}

/** A sandbox that can't be set up is reported as a failed execution. */
function explainSandbox(policy: SandboxPolicy): (thrown: unknown) => never {
	return (thrown) => {
		const isRefused = thrown instanceof SessionError && ["invalid_argument", "unsupported"].includes(thrown.code);
		if (!isRefused || !isConfined(policy)) throw thrown;
		throw new RpcError(rpcCodes.internal, `exec failed: ${thrown.message}`, { cause: thrown });
	};
}
