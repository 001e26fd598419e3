/** The engine of drop-ins whose programs all run in the server's process. Stores nothing on disk. */

import { randomBytes } from "node:crypto";
import { childEnvironment, wholeEnvironment } from "../backends/environment.ts";
import { readInherited } from "../backends/inherited-limits.ts";
import { spawn } from "../backends/spawn.ts";
import { systemClock } from "../backends/system-clock.ts";
import type { SandboxSupport } from "../core/process/sandbox-policy.ts";
import { inProcess } from "../core/session/in-process-sessions.ts";
import { SessionRegistry, type Sessions } from "../core/session/session-registry.ts";
import { defaultWorkspace } from "../core/session/workspaces.ts";
import type { ServerContext } from "../http/front.ts";
import { skim } from "../native/addon.ts";
import { confined } from "../sandbox/sandbox.ts";
import { createId, createPrepare } from "../services/starts/prepare.ts";
import type { Prepare } from "../services/starts/request.ts";
import { openLocalSandbox } from "./local-sandbox.ts";

/**
 * Protects the machine from a runaway client; the original servers have no limit.
 * @limit programs at once in `hawser exec-server` and `hawser app-server` | -32603
 */
const MAX_RUNNING = 4096;
/** Ended programs kept by the core, in addition to those kept by the front. */
const MAX_ENDED = 500;

type Transient = {
	readonly sessions: Sessions;
	readonly prepare: Prepare;
	/** Sandboxes that can be enforced. */
	readonly sandbox: SandboxSupport;
	/** The environment of the server, without its settings. */
	readonly environment: () => Readonly<Record<string, string>>;
	readonly cwd: string;
	/** Kills all programs. Concurrent calls wait for the same end. */
	end(): Promise<void>;
};

/** `hidden` files are hidden from sandboxed programs. */
export async function openTransientEngine(
	report: ServerContext["report"],
	hidden: readonly string[] = [],
): Promise<Transient> {
	const local = inProcess({ spawn, clock: systemClock, skim, onFailure: (error) => report(error, "session") });
	// Clients of this engine can't request limits.
	const sandbox = await openLocalSandbox(hidden, null);
	const home = confined(local, sandbox);
	const sessions = new SessionRegistry({
		homes: { durable: home, transient: home },
		maxRunning: MAX_RUNNING,
		maxEnded: MAX_ENDED,
		onFailure: (error) => report(error, "sessions"),
	});
	const cwd = process.cwd();
	const environment = () => wholeEnvironment(process.env);
	const prepare = createPrepare({
		defaults: {
			cwd,
			workspace: defaultWorkspace,
			durable: false,
			retention: { memoryBytes: 0, journalBytes: 0 },
			drainMs: 0,
			inherited: readInherited(),
		},
		newId: () => createId(randomBytes),
		now: () => systemClock.now(),
		environment: (request, { id }, base = environment()) => childEnvironment({}, request, id, base),
	});
	return {
		sessions,
		prepare,
		sandbox: sandbox.describe(),
		environment,
		cwd,
		end: () => sessions.endTransient({ signal: "SIGKILL", graceMs: 0 }),
	};
}
