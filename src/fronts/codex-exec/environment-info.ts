/** `environment/info` and `environment/status`: what a client needs to know of this host before it starts anything. */

import { accessSync, constants, statSync } from "node:fs";
import { basename, isAbsolute, join, resolve } from "node:path";
import { type Methods, method } from "../json-rpc/methods.ts";
import { nothing } from "../json-rpc/params.ts";
import { toPathUri } from "./path-uri.ts";

export type EnvironmentInfo = {
	readonly shell: { readonly name: string; readonly path: string };
	readonly cwd: string;
	readonly temporaryDirectories: readonly string[];
	readonly tempDir: string;
	readonly capabilities: Readonly<Record<string, boolean>>;
};

type Host = { readonly env: Readonly<Record<string, string | undefined>>; readonly cwd: string };

/** What a client would use if it were true; false, so that it never sends what is not understood here. */
const capabilities = {
	networkProxyLaunch: false,
	capabilityDiscoverySandbox: false,
	environmentConfigRead: false,
	httpHeaderEnvVars: false,
	sandboxedFileStreaming: false,
	shellSnapshotV2: false,
} as const;

/** The shells of Unix that clients know how to talk to, the one we would rather have first. */
const shells: readonly string[] = ["bash", "zsh", "sh"];

const usualDirectories: readonly string[] = ["/bin", "/usr/bin", "/usr/local/bin"];

export function createEnvironmentMethods(host: Host): Methods {
	return new Map([
		[
			"environment/info",
			method({ family: "environment info", decode: nothing, run: async () => environmentInfo(host) }),
		],
		[
			"environment/status",
			method({ family: "environment status", decode: nothing, run: async () => ({ status: "ready" }) }),
		],
	]);
}

export function environmentInfo({ env, cwd }: Host): EnvironmentInfo {
	const temporary = env.TMPDIR ? resolve(cwd, env.TMPDIR) : undefined;
	return {
		shell: findShell(env),
		cwd: toPathUri(cwd),
		temporaryDirectories: temporary === undefined ? [] : [toPathUri(temporary)],
		tempDir: toPathUri(temporary ?? "/tmp"),
		capabilities,
	};
}

function findShell(env: Host["env"]): EnvironmentInfo["shell"] {
	const preferred = env.SHELL ?? "";
	if (isAbsolute(preferred) && shells.includes(basename(preferred)) && isExecutable(preferred))
		return { name: basename(preferred), path: preferred };
	const directories = [...usualDirectories, ...(env.PATH ?? "").split(":").filter(isAbsolute)];
	const found = shells
		.flatMap((name) => directories.map((directory) => ({ name, path: join(directory, name) })))
		.find(({ path }) => isExecutable(path));
	return found ?? { name: "sh", path: "/bin/sh" };
}

function isExecutable(path: string): boolean {
	try {
		accessSync(path, constants.X_OK);
		return statSync(path).isFile();
	} catch {
		return false;
	}
}
