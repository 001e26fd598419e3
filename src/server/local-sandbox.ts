/** The sandbox of this machine, also for commands that start no server. */

import type { SandboxSupport } from "../core/process/sandbox-policy.ts";
import { ControlGroups } from "../sandbox/control-groups.ts";
import { Sandbox } from "../sandbox/sandbox.ts";
import { type Config, ConfigError, stateDirectory } from "./config.ts";

/** Hides these paths and the default state directory, whose token would let a program escape. */
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
