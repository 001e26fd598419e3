/** `environment/info` and `environment/status`: describes this host to the client. */

import { homedir } from "node:os";
import { basename, isAbsolute, resolve } from "node:path";
import { findShell, isExecutable, type Shell } from "../../../services/host/shells.ts";
import * as rpc from "../../json-rpc/params.ts";
import { type Methods, method } from "./methods.ts";
import { toPathUri } from "./path-uri.ts";

type EnvironmentInfo = {
	readonly shell: Shell;
	readonly executorVersion: string;
	readonly cwd: string;
	readonly userHomeDir: string;
	readonly platformOs: string;
	/** Directories that a client puts before the PATH of its commands. */
	readonly prependPathDirs: readonly string[];
	readonly temporaryDirectories: readonly string[];
	readonly tempDir: string;
	readonly capabilities: Readonly<Record<string, boolean>>;
};

type Host = {
	readonly env: Readonly<Record<string, string | undefined>>;
	readonly cwd: string;
	/** Version of this server. */
	readonly version: string;
};

/** Features a client would use if true. All are false, so that it never sends requests that are not supported here. */
const capabilities = {
	networkProxyLaunch: false,
	networkProxyReviewDomains: false,
	credentialMasking: false,
	credentialMaskingCustomProviders: false,
	capabilityDiscoverySandbox: false,
	fsWatchMissing: false,
	capabilityDiscoveryV2: false,
	environmentConfigRead: false,
	httpHeaderEnvVars: false,
	sandboxedFileStreaming: false,
	fileWriteStreaming: false,
	shellSnapshotV2: false,
	windowsMxc: false,
	linuxRootWritePreservesDevices: false,
	linuxApprovedRootWritePreservesRestrictions: false,
} as const;

/** Unix shells that clients support, in order of preference. */
const shells: readonly string[] = ["bash", "zsh", "sh"];

const usualDirectories: readonly string[] = ["/bin", "/usr/bin", "/usr/local/bin"];

export function createEnvironmentMethods(host: Host): Methods {
	return new Map([
		["environment/info", method({ family: "environment info", decode: rpc.nothing, run: () => environmentInfo(host) })],
		[
			"environment/status",
			method({ family: "environment status", decode: rpc.nothing, run: async () => ({ status: "ready" }) }),
		],
	]);
}

export async function environmentInfo({ env, cwd, version }: Host): Promise<EnvironmentInfo> {
	const temporary = env.TMPDIR ? resolve(cwd, env.TMPDIR) : undefined;
	return {
		shell: await shellOf(env),
		executorVersion: version,
		cwd: toPathUri(cwd),
		userHomeDir: toPathUri(env.HOME && isAbsolute(env.HOME) ? env.HOME : homedir()),
		platformOs: process.platform === "darwin" ? "macos" : process.platform,
		prependPathDirs: [],
		temporaryDirectories: temporary === undefined ? [] : [toPathUri(temporary)],
		tempDir: toPathUri(temporary ?? "/tmp"),
		capabilities,
	};
}

async function shellOf(env: Host["env"]): Promise<Shell> {
	const preferred = env.SHELL ?? "";
	if (isAbsolute(preferred) && shells.includes(basename(preferred)) && (await isExecutable(preferred)))
		return { name: basename(preferred), path: preferred };
	const directories = [...usualDirectories, ...(env.PATH ?? "").split(":").filter(isAbsolute)];
	return (await findShell(shells, directories)) ?? { name: "sh", path: "/bin/sh" };
}
