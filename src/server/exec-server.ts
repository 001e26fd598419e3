/** `hawser exec-server`: the Codex front alone, by the rules of the server it stands in for. Nothing is kept on disk. */

import { randomBytes, randomUUID } from "node:crypto";
import { anybody } from "../access/fixed.ts";
import { systemClock } from "../backends/clock.ts";
import { wholeEnvironment } from "../backends/environment.ts";
import { readInherited } from "../backends/inherited.ts";
import { spawn } from "../backends/spawn.ts";
import { inProcess } from "../core/in-process.ts";
import { LocalSessions } from "../core/sessions.ts";
import { ExecServer } from "../fronts/codex-exec/exec-server.ts";
import { answerUnknown, type CodexExecOptions, createCodexExecFront } from "../fronts/codex-exec/front.ts";
import type { ExecLimits } from "../fronts/codex-exec/limits.ts";
import type { Hosting } from "../fronts/front.ts";
import type { Stdio } from "../fronts/json-rpc/stdio.ts";
import { createId, createPrepare } from "../fronts/prepare.ts";
import { confined } from "../sandbox/sandbox.ts";
import { listen } from "./listen.ts";
import { openSandbox } from "./open-sandbox.ts";

/** The real server has no limit; this one is there so that a client gone wild does not take the machine with it. */
const MAX_RUNNING = 4096;
/** How many ended processes the core keeps besides what the front does, which is enough for every client. */
const MAX_ENDED = 500;

export type ExecServerOptions = {
	/** How many requests of one connection may be under way at once. */
	readonly concurrency: number;
	readonly limits?: Partial<ExecLimits>;
	readonly report: Hosting["report"];
};

export type RunningExecServer = {
	/** `ws://` and where to reach us. */
	readonly url: string;
	/** Closes every connection and ends every process. */
	close(): Promise<void>;
};

export async function startExecServer(
	address: { readonly host: string; readonly port: number },
	options: ExecServerOptions,
): Promise<RunningExecServer> {
	const { parts, end } = await compose(options);
	const listener = await listen({
		...address,
		isOpen: "to everybody",
		authorize: anybody,
		fronts: [createCodexExecFront({ ...parts, path: "/" })],
		answerUnknown,
		report: options.report,
	});
	return {
		url: listener.url.replace(/^http/, "ws"),
		close: async () => {
			await listener.close();
			await end();
		},
	};
}

/** Serves the one client of a pipe until it is gone, or the signal says that it is over. */
export async function serveExecOnStdio(stdio: Stdio, options: ExecServerOptions, signal: AbortSignal): Promise<void> {
	signal.addEventListener("abort", () => stdio.input.destroy(), { once: true });
	const { parts, end } = await compose(options);
	const server = new ExecServer({ ...parts, report: (problem) => options.report(problem, "codex-exec") });
	await server.serveStdio(stdio);
	await end();
}

async function compose({ concurrency, limits = {}, report }: ExecServerOptions): Promise<{
	readonly parts: Omit<CodexExecOptions, "path">;
	readonly end: () => Promise<void>;
}> {
	const sandbox = await openSandbox();
	const local = inProcess({ spawn, clock: systemClock, onFailure: (error) => report(error, "session") });
	const home = confined(local, sandbox);
	const sessions = new LocalSessions({
		homes: { durable: home, transient: home },
		maxRunning: MAX_RUNNING,
		maxEnded: MAX_ENDED,
		onFailure: (error) => report(error, "sessions"),
	});
	const environment = () => wholeEnvironment(process.env);
	const prepare = createPrepare({
		defaults: {
			cwd: process.cwd(),
			workspace: "default",
			durable: false,
			retention: { memoryBytes: 0, journalBytes: 0 },
			drainMs: 0,
			inherited: readInherited(),
		},
		newId: () => createId(randomBytes),
		now: () => systemClock.now(),
		environment,
	});
	return {
		parts: { sessions, prepare, environment, cwd: process.cwd(), newUuid: randomUUID, concurrency, limits },
		// At once: whoever ends this server wants nothing of it to be left.
		end: async () => {
			const kill = { signal: "SIGKILL", graceMs: 0 } as const;
			await Promise.all(sessions.list().map((session) => session.kill(kill)));
		},
	};
}
