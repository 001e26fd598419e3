/** Helpers to start a program in a test. */

import { randomBytes } from "node:crypto";
import { childEnvironment } from "../../src/backends/environment.ts";
import type { SessionSpec, SessionStart } from "../../src/core/session/session-info.ts";

export type StartOptions = Partial<Omit<SessionSpec, "argv">> & {
	readonly drainMs?: number;
	readonly stdin?: "open" | "closed";
};

export function startOf(argv: readonly string[], options: StartOptions = {}): SessionStart {
	const { drainMs = 2_000, stdin = "open", ...spec } = options;
	const id = spec.id ?? `t${randomBytes(6).toString("hex")}`;
	const mode = spec.mode ?? "pty";
	return {
		spec: {
			id,
			name: null,
			labels: {},
			workspace: "default",
			argv,
			cwd: "/",
			mode,
			durable: true,
			retention: { memoryBytes: 1024 * 1024, journalBytes: 64 * 1024 * 1024 },
			timeoutMs: 0,
			idleTimeoutMs: 0,
			createdAt: Date.now(),
			...spec,
		},
		command: {
			argv,
			env: childEnvironment(process.env, {}, id),
			cwd: spec.cwd ?? "/",
			mode,
			size: { cols: 80, rows: 24 },
			stdin,
			drainMs,
			sessionId: id,
		},
	};
}

export function shell(script: string, options?: StartOptions): SessionStart {
	return startOf(["/bin/sh", "-c", script], options);
}

/** On a terminal that neither echoes nor translates. */
export function rawShell(script: string): SessionStart {
	return shell(`stty raw -echo; ${script}`);
}
