/** Runs each sandboxed file request in a process of its own inside the sandbox. */

import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { SessionError } from "../../../../core/errors.ts";
import { LOG_START } from "../../../../core/log/event.ts";
import type { SandboxPolicy } from "../../../../core/process/sandbox-policy.ts";
import { sendInParts } from "../../../../core/session/send-input.ts";
import type { Session } from "../../../../core/session/session.ts";
import type { Sessions } from "../../../../core/session/session-registry.ts";
import type { StartRequest } from "../../../../services/starts/request.ts";
import { SessionScope } from "../../../../services/starts/session-scope.ts";
import { RpcError, rpcCodes } from "../../../json-rpc/errors.ts";
import { type SandboxRequest, toPolicy } from "../sandbox.ts";

/** Runs one request through `worker.ts`. */
export type RunConfined = (asked: FileRequest, wanted: SandboxRequest, signal: AbortSignal) => Promise<unknown>;

export type FileRequest = { readonly method: string; readonly params: unknown };

/** The worker's answer. */
export type FileAnswer =
	| { readonly result: unknown }
	| { readonly error: { readonly code: number; readonly message: string } };

type ConfinedFilesOptions = {
	readonly sessions: Sessions;
	readonly launch: (request: StartRequest) => Promise<Session>;
	readonly environment: () => Readonly<Record<string, string>>;
	/** Path of the worker; the built-in one if absent. */
	readonly worker?: string | undefined;
	readonly report: (problem: unknown) => void;
};

export function createRunConfined(options: ConfinedFilesOptions): RunConfined {
	const { sessions, launch, environment, report } = options;
	const worker = options.worker ?? fileURLToPath(new URL("./worker.js", import.meta.url));
	return async (asked, wanted, signal) => {
		const scope = new SessionScope({ sessions, report });
		const end = () => void scope.end();
		signal.addEventListener("abort", end, { once: true });
		try {
			const policy = toPolicy(wanted, { cwd: undefined, temporaryDirectory: environment().TMPDIR });
			const session = await scope.start(() =>
				launch({
					argv: [process.execPath, worker],
					exactEnv: {},
					cwd: "/",
					mode: "pipe",
					durable: false,
					drainMs: 0,
					labels: { "codex.files": asked.method },
					sandbox: withWorker(policy, worker),
				}),
			);
			return resultOf(await ask(session, asked));
		} catch (error) {
			throw explain(error);
		} finally {
			signal.removeEventListener("abort", end);
			await scope.end();
		}
	};
}

/** Lets the worker read Node and our compiled files even if the policy does not name them. */
function withWorker(policy: SandboxPolicy, worker: string): SandboxPolicy {
	if (policy.type !== "paths") return policy;
	const compiled = join(dirname(worker), "../../../..");
	const needed = [process.execPath, compiled].map((path) => ({ path, access: "read" }) as const);
	return { ...policy, paths: [...needed, ...policy.paths] };
}

async function ask(session: Session, asked: FileRequest): Promise<string> {
	const bytes = Buffer.from(JSON.stringify(asked));
	const given = sendInParts(
		session,
		{ kind: "write", bytes },
		{ origin: { stream: "request", position: 0 }, until: "accepted" },
	)
		.then(() => session.act({ kind: "eof" }))
		// The worker ended before it read everything; its output has the reason.
		.catch(() => {});
	const said: Record<"stdout" | "stderr" | "pty", Uint8Array[]> = { stdout: [], stderr: [], pty: [] };
	for await (const item of session.follow(LOG_START, { flow: "lossless" })) {
		if (item.kind === "output") said[item.stream].push(item.bytes);
	}
	await given;
	if (session.state.exit?.code === 0) return Buffer.concat(said.stdout).toString();
	throw new RpcError(rpcCodes.internal, `the sandbox failed: ${Buffer.concat(said.stderr).toString().trim()}`);
}

function resultOf(text: string): unknown {
	const answer = JSON.parse(text) as FileAnswer;
	if ("result" in answer) return answer.result;
	throw new RpcError(answer.error.code, answer.error.message);
}

/** Converts failures to set up the sandbox. The request never runs without it. */
function explain(error: unknown): unknown {
	if (!(error instanceof SessionError)) return error;
	if (error.code === "invalid_argument") return new RpcError(rpcCodes.invalidRequest, error.message);
	return error.code === "unsupported" ? notConfined() : error;
}

export function notConfined(): RpcError {
	return new RpcError(rpcCodes.invalidRequest, "sandboxed filesystem operations require configured runtime paths");
}
