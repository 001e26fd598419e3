/** The sandbox of a server on this machine, and what it can enforce, also for who starts no server. */

import type { SandboxSupport } from "../core/sandbox.ts";
import { ControlGroups } from "../sandbox/cgroup.ts";
import { Sandbox } from "../sandbox/sandbox.ts";
import { type Config, ConfigError, stateDirectory } from "./config.ts";

/** Hides these paths, and where a server of this user is usually found: its token would be a way out. */
export async function openLocalSandbox(hidden: readonly string[], cgroup: Config["cgroup"]): Promise<Sandbox> {
	return Sandbox.probe({
		path: process.env.PATH,
		hidden: [...hidden, stateDirectory({}, process.env)],
		cgroups: cgroup === null ? undefined : await openGroups(cgroup),
	});
}

export async function probeSandbox(cgroup: Config["cgroup"]): Promise<SandboxSupport> {
	return (await openLocalSandbox([], cgroup)).describe();
}

function openGroups(directory: string): Promise<ControlGroups> {
	return ControlGroups.open(directory).catch((error: unknown) => {
		throw new ConfigError("--cgroup", error instanceof Error ? error.message : String(error));
	});
}
