/** What a drop-in stands on whose programs all live in its own process: nothing is kept on disk. */

import { randomBytes } from "node:crypto";
import { systemClock } from "../backends/clock.ts";
import { childEnvironment, wholeEnvironment } from "../backends/environment.ts";
import { readInherited } from "../backends/inherited.ts";
import { spawn } from "../backends/spawn.ts";
import { inProcess } from "../core/in-process.ts";
import type { SandboxSupport } from "../core/sandbox.ts";
import { LocalSessions, type Sessions } from "../core/sessions.ts";
import { defaultWorkspace } from "../core/workspaces.ts";
import type { Hosting, Prepare } from "../fronts/front.ts";
import { createId, createPrepare } from "../fronts/prepare.ts";
import { skim } from "../native/addon.ts";
import { confined } from "../sandbox/sandbox.ts";
import { openLocalSandbox } from "./local-sandbox.ts";

/** The real servers have no limit; this one is there so that a client gone wild does not take the machine with it. */
const MAX_RUNNING = 4096;
/** How many ended programs the core keeps besides what a front does, which is enough for every client. */
const MAX_ENDED = 500;

type Transient = {
	readonly sessions: Sessions;
	readonly prepare: Prepare;
	/** What programs may be kept from here. */
	readonly sandbox: SandboxSupport;
	/** The server's own environment without its settings. */
	readonly environment: () => Readonly<Record<string, string>>;
	readonly cwd: string;
	/** Ends every program at once: whoever ends such a server wants nothing of it to be left. Each who asks waits for the same end. */
	end(): Promise<void>;
};

/** `hidden` is not there for programs in a sandbox. */
export async function openTransient(report: Hosting["report"], hidden: readonly string[] = []): Promise<Transient> {
	const local = inProcess({ spawn, clock: systemClock, skim, onFailure: (error) => report(error, "session") });
	// None of its clients can ask for limits.
	const sandbox = await openLocalSandbox(hidden, null);
	const home = confined(local, sandbox);
	const sessions = new LocalSessions({
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
		environment: (request, sessionId, base = environment()) => childEnvironment({}, request, sessionId, base),
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
