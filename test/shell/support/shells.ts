/** Running shells for tests: with hooks, in a home of their own. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { withHooks } from "../../../src/backends/shell-hooks.ts";
import { spawn } from "../../../src/backends/spawn.ts";
import { systemClock } from "../../../src/backends/system-clock.ts";
import type { Clock } from "../../../src/core/async/clock.ts";
import { LocalSession } from "../../../src/core/session/local-session.ts";
import type { Session } from "../../../src/core/session/session.ts";
import type { RunOutcome } from "../../../src/core/shell/run-command.ts";
import { shellText } from "../../../src/core/shell/shell-text.ts";
import { startOf } from "../../support/starts.ts";
import { decorations, type ShellName } from "./decorations.ts";

export type LivingShell = {
	readonly session: LocalSession;
	readonly home: string;
	run(command: string, timeoutMs?: number): Promise<RunOutcome & { readonly text: string }>;
};

export type ShellOptions = {
	readonly isDecorated?: boolean;
	readonly files?: Readonly<Record<string, string>>;
	readonly arguments?: readonly string[];
	readonly env?: Readonly<Record<string, string>>;
	readonly clock?: Clock;
};

/** A command that runs until a file `go` exists in its directory. */
export const UNTIL_GO = "sh -c 'until [ -e go ]; do sleep 0.01; done'";

/** Ends with the test. There are no hooks for `sh`. */
export async function startShell(name: ShellName | "sh", options: ShellOptions = {}): Promise<LivingShell> {
	const home = mkdtempSync(join(tmpdir(), "hawser-shell-"));
	const files = { ...(options.isDecorated && name !== "sh" ? decorations[name] : {}), ...options.files };
	if (name === "zsh" && !(".zshrc" in files)) writeFileSync(join(home, ".zshrc"), "");
	for (const [path, text] of Object.entries(files)) {
		mkdirSync(dirname(join(home, path)), { recursive: true });
		writeFileSync(join(home, path), text);
	}
	const start = startOf([name, ...(options.arguments ?? [])], { cwd: home, shellHooks: true, answersQueries: true });
	const env = { ...start.command.env, HOME: home, TERM: "xterm-256color", ...options.env };
	const asked = { ...start, command: { ...start.command, env } };
	const hooked = await withHooks(asked.command, join(home, ".hooks"));
	const session = await LocalSession.start(
		{ ...asked, command: hooked?.command ?? asked.command },
		{
			spawn,
			clock: options.clock ?? systemClock,
			shellHooks: hooked?.hooks,
		},
	);
	onTestFinished(async () => {
		await session.kill({ graceMs: 0 });
		rmSync(home, { recursive: true, force: true });
	});
	return {
		session,
		home,
		async run(command, timeoutMs = 10_000) {
			const answer = await session.run({ command, timeoutMs, options: {} });
			return { ...answer, text: await textOf(session, answer.output) };
		},
	};
}

/** The text of a range of output. */
export async function textOf(session: Session, range: { from: number; to: number }): Promise<string> {
	return shellText(await bytesOf(session, range));
}

/** Including the marks. */
export async function bytesOf(session: Session, { from, to }: { from: number; to: number }): Promise<Uint8Array> {
	const bytes: Uint8Array[] = [];
	if (from === to) return Buffer.alloc(0);
	for await (const item of session.follow({ offset: from })) {
		if (item.kind !== "output") continue;
		bytes.push(item.bytes.subarray(0, to - item.offset));
		if (item.offset + item.bytes.byteLength >= to) break;
	}
	return Buffer.concat(bytes);
}
