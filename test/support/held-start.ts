/** A start whose minder waits before it runs the program, when the session's record is already on disk. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { SessionStart } from "../../src/core/session/session-info.ts";
import type { KeeperSite } from "./keeper-site.ts";
import { startOf } from "./starts.ts";

type HeldStart = { readonly start: SessionStart; letGo(): Promise<void> };

/** The script runs in the site's directory, in session "held". */
export async function heldBack(site: KeeperSite, script: string): Promise<HeldStart> {
	// A minder shares its placeholders with others, and waits for one that is locked exclusively.
	const placeholder = join(site.directory, "placeholder");
	await mkdir(placeholder);
	await chmod(placeholder, 0o1555);
	const locking = spawn("flock", ["-x", placeholder, "sh", "-c", "echo locked; read line"], {
		stdio: ["pipe", "pipe", "inherit"],
	});
	const ended = once(locking, "exit");
	const letGo = async () => {
		locking.stdin.end();
		await ended;
	};
	onTestFinished(letGo);
	await once(locking.stdout, "data");
	const { spec, command } = startOf(["/bin/sh", "-c", script], { id: "held", mode: "pipe", cwd: site.directory });
	return { start: { spec, command: { ...command, placeholders: [placeholder] } }, letGo };
}
