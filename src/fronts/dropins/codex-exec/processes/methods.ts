/** The `process/*` methods. Each is one call on the client's processes. */

import { SessionError } from "../../../../core/errors.ts";
import type { SandboxPolicy } from "../../../../core/process/sandbox-policy.ts";
import type { Session } from "../../../../core/session/session.ts";
import { loginShell } from "../../../../services/host/shells.ts";
import type { StartRequest } from "../../../../services/starts/request.ts";
import { RpcError, rpcCodes } from "../../../json-rpc/errors.ts";
import * as rpc from "../../../json-rpc/params.ts";
import { childEnvironment, environmentPolicy } from "../environment.ts";
import { type Methods, method } from "../methods.ts";
import { pathUri, workingDirectory } from "../path-uri.ts";
import { type PolicyContext, type SandboxRequest, sandbox, toPolicy } from "../sandbox.ts";
import type { ExecProcesses } from "./processes.ts";

type ProcessMethodsParts = {
	/** The client's processes. Only called after the handshake. */
	readonly processes: () => ExecProcesses;
	readonly launch: (request: StartRequest) => Promise<Session>;
	/** The part of the server's environment that clients may inherit. */
	readonly environment: () => Readonly<Record<string, string>>;
	readonly retainedBytes: number;
};

export function createProcessMethods({ processes, launch, environment, retainedBytes }: ProcessMethodsParts): Methods {
	const family = "exec";
	return new Map([
		[
			"process/start",
			method({
				family,
				decode: start,
				run: async (params) => {
					const { processId, tty, pipeStdin } = params;
					const chosen = childEnvironment(environment(), params.envPolicy, params.env);
					// Codex's server sets SHELL on terminals too.
					const env = tty ? { SHELL: loginShell(), ...chosen } : chosen;
					const request = { ...toRequest(params, env), exactEnv: env, retention: { memoryBytes: retainedBytes } };
					const isSandboxed = params.sandbox !== null;
					await processes().start(processId, { isWritable: tty || pipeStdin, isSandboxed }, () =>
						launch(request).catch((error: unknown) => {
							throw isSandboxed ? explainSandbox(error) : error;
						}),
					);
					return { processId, sandboxType: isSandboxed ? "linuxSeccomp" : "none" };
				},
			}),
		],
		["process/read", method({ family, decode: read, run: (params, signal) => processes().read(params, signal) })],
		[
			"process/write",
			method({
				family,
				decode: write,
				run: async (params, signal) => ({ status: await processes().write(params, params.chunk, signal) }),
			}),
		],
		[
			"process/signal",
			method({
				family,
				decode: signal,
				run: async ({ processId }) => {
					await processes().interrupt(processId).catch(explainSignal);
					return {};
				},
			}),
		],
		[
			"process/terminate",
			method({
				family,
				decode: target,
				run: async ({ processId }) => ({ running: processes().terminate(processId) }),
			}),
		],
	]);
}

/** Longest part of a name that is stored as a label. The name itself may be as long as a message. */
const LABEL_LENGTH = 256;

/** Accepts anything: only its presence matters. */
const anything: rpc.Decode<unknown> = (value) => value;

const port = rpc.integer("u16", 0, 65_535);

const uuid: rpc.Decode<string> = (value, field) => {
	const id = rpc.string(value, field);
	if (/^(urn:uuid:)?[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$/i.test(id)) return id;
	throw rpc.refusal(`invalid UUID in \`${field}\``);
};

const start = rpc.object({
	processId: rpc.string,
	argv: rpc.list(rpc.string),
	cwd: pathUri,
	envPolicy: rpc.optional(environmentPolicy, null),
	env: rpc.map(rpc.string),
	tty: rpc.boolean,
	pipeStdin: rpc.optional(rpc.boolean, false),
	arg0: rpc.optional(rpc.string, undefined),
	sandbox: rpc.optional(sandbox, null),
	enforceManagedNetwork: rpc.optional(rpc.boolean, false),
	managedNetwork: rpc.optional(
		rpc.object({
			loopbackPorts: rpc.unlessAbsent(rpc.list(port), []),
			allowLocalBinding: rpc.unlessAbsent(rpc.boolean, false),
		}),
		null,
	),
	metadata: rpc.optional(
		rpc.object({ threadId: rpc.optional(uuid, null), toolCallId: rpc.optional(rpc.string, null) }),
		null,
	),
	networkProxy: rpc.optional(anything, null),
	shellSnapshot: rpc.optional(anything, null),
});

const read = rpc.object({
	processId: rpc.string,
	afterSeq: rpc.optional(rpc.unsigned, 0),
	maxBytes: rpc.optional(rpc.unsigned, null),
	waitMs: rpc.optional(rpc.unsigned, 0),
});

const writeId: rpc.Decode<string> = (value, field) => {
	const id = rpc.string(value, field);
	if (id === "") throw rpc.refusal("writeId must not be empty");
	return id;
};

const target = rpc.object({ processId: rpc.string });
const write = rpc.object({ processId: rpc.string, chunk: rpc.bytes, writeId });
const signal = rpc.object({ processId: rpc.string, signal: rpc.oneOf("interrupt") });

/** Checks in the order of Codex's server (contract §3.1). */
function toRequest(params: ReturnType<typeof start>, env: Readonly<Record<string, string>>): StartRequest {
	if (params.networkProxy !== null) throw rpc.refusal("network proxies are not supported by this exec-server");
	const cwd = workingDirectory(params.cwd);
	const policy =
		params.sandbox === null ? undefined : policyOf(params.sandbox, { cwd, temporaryDirectory: env.TMPDIR });
	// Only proxies can allow part of the network.
	if (params.sandbox !== null && params.enforceManagedNetwork) throw notEnforced();
	if (params.shellSnapshot !== null) throw rpc.refusal("shell snapshots are not supported by this exec-server");
	if (params.argv.length === 0) throw rpc.refusal("argv must not be empty");
	return {
		argv: params.argv,
		arg0: params.arg0,
		cwd,
		mode: params.tty ? "pty" : "pipe",
		stdin: params.tty || params.pipeStdin ? "open" : "closed",
		durable: false,
		// `closed` means that no output can follow, however long another process holds the pipes (contract §4.1).
		drainMs: null,
		sandbox: policy,
		labels: { "codex.process": params.processId.slice(0, LABEL_LENGTH) },
	};
}

function policyOf(wanted: SandboxRequest, context: PolicyContext): SandboxPolicy {
	try {
		return toPolicy(wanted, context);
	} catch (error) {
		throw explainSandbox(error);
	}
}

/** Converts a failure to set up the sandbox. The program never runs without it. */
function explainSandbox(error: unknown): unknown {
	if (!(error instanceof SessionError)) return error;
	if (error.code === "unsupported") return notEnforced();
	return error.code === "invalid_argument" ? rpc.refusal(error.message) : error;
}

function notEnforced(): RpcError {
	return rpc.refusal("sandbox intent cannot be enforced on this executor");
}

function explainSignal(error: unknown): void {
	if (!(error instanceof SessionError)) throw error;
	// The process just ended, as the interrupt intended.
	if (error.code === "session_closed") return;
	throw new RpcError(rpcCodes.internal, `failed to signal process: ${error.message}`, { cause: error });
}
