/** File requests in a sandbox: each is carried out by a process of its own, which is in that sandbox. */

import { fileURLToPath } from "node:url";
import { SessionError } from "../../../core/errors.ts";
import { offer } from "../../../core/offer.ts";
import type { Session } from "../../../core/session.ts";
import type { Sessions } from "../../../core/sessions.ts";
import type { StartRequest } from "../../front.ts";
import { RpcError, rpcCodes } from "../../json-rpc/error.ts";
import { SessionScope } from "../../session-scope.ts";
import { type SandboxRequest, toPolicy } from "../sandbox.ts";

/** Carries out one request as `worker.ts` would if it were asked for it. */
export type RunConfined = (asked: FileRequest, wanted: SandboxRequest, signal: AbortSignal) => Promise<unknown>;

export type FileRequest = { readonly method: string; readonly params: unknown };

/** What the worker answers. */
export type FileAnswer =
	| { readonly result: unknown }
	| { readonly error: { readonly code: number; readonly message: string } };

type ConfinedFilesOptions = {
	readonly sessions: Sessions;
	readonly launch: (request: StartRequest) => Promise<Session>;
	readonly environment: () => Readonly<Record<string, string>>;
	/** The worker; our own when left out. */
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
			const sandbox = toPolicy(wanted, { cwd: undefined, temporaryDirectory: environment().TMPDIR });
			const session = await scope.start(() =>
				launch({
					argv: [process.execPath, worker],
					exactEnv: {},
					cwd: "/",
					mode: "pipe",
					durable: false,
					drainMs: 0,
					labels: { "codex.files": asked.method },
					sandbox,
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

async function ask(session: Session, asked: FileRequest): Promise<string> {
	const bytes = Buffer.from(JSON.stringify(asked));
	const given = offer(
		session,
		{ kind: "write", bytes },
		{ origin: { stream: "request", position: 0 }, until: "accepted" },
	)
		.then(() => session.act({ kind: "eof" }))
		// It has ended before it took everything, and what it said tells why.
		.catch(() => {});
	const said: Record<"stdout" | "stderr" | "pty", Uint8Array[]> = { stdout: [], stderr: [], pty: [] };
	for await (const item of session.follow({ seq: 1 }, { flow: "lossless" })) {
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

/** Nothing is done without the sandbox in which it was to be done. */
function explain(error: unknown): unknown {
	if (!(error instanceof SessionError)) return error;
	if (error.code === "invalid_argument") return new RpcError(rpcCodes.invalidRequest, error.message);
	return error.code === "unsupported" ? notConfined() : error;
}

export function notConfined(): RpcError {
	return new RpcError(rpcCodes.invalidRequest, "sandboxed filesystem operations require configured runtime paths");
}
