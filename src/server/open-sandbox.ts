/** The sandbox of a server on this machine, and what it can enforce, also for who starts no server. */

import type { SandboxSupport } from "../core/sandbox.ts";
import { Sandbox } from "../sandbox/sandbox.ts";
import { stateDirectory } from "./config.ts";

/** Hides these paths, and where a server of this user is usually found: its token would be a way out. */
export function openSandbox(hidden: readonly string[] = []): Promise<Sandbox> {
	return Sandbox.probe({ path: process.env.PATH, hidden: [...hidden, stateDirectory({}, process.env)] });
}

export async function probeSandbox(): Promise<SandboxSupport> {
	return (await openSandbox()).describe();
}
