/** What a program may reach: the policies that can be asked for, which are enforced or refused, never ignored. */

export type SandboxPolicy =
	/** Everything its user may. */
	| { readonly type: "dangerFullAccess" }
	/** Everything its user may; whoever asks says that there is a sandbox around the server already. */
	| { readonly type: "externalSandbox"; readonly networkAccess?: "restricted" | "enabled" }
	/** Reads every file, writes none. */
	| ({ readonly type: "readOnly" } & Confinement)
	/** Reads every file, writes only below some directories and in those for temporary files. */
	| ({
			readonly type: "workspaceWrite";
			/** Absolute. The program's own directory, when left out. */
			readonly writableRoots?: readonly string[];
			/** Whether the directory that TMPDIR names for the program stays read-only. */
			readonly excludeTmpdirEnvVar?: boolean;
			readonly excludeSlashTmp?: boolean;
	  } & Confinement)
	/** Path by path, the longest that fits counts; what none names can be read. */
	| ({ readonly type: "paths"; readonly paths: readonly SandboxPath[] } & Confinement);

export type SandboxPath = {
	/** Absolute. */
	readonly path: string;
	readonly access: "read" | "write" | "none";
};

type Confinement = {
	/** Whether it may use the network and the sockets of others; false when left out. */
	readonly networkAccess?: boolean;
	/** Whether what may be written and is not there is passed over, as clients of Codex expect; it is refused otherwise. */
	readonly skipsMissing?: boolean;
	readonly limits?: SandboxLimits;
};

/** What each of its processes may use; `processes`, and where control groups limit it `memoryBytes`, is for all of them together. */
export type SandboxLimits = {
	readonly cpuSeconds?: number;
	readonly memoryBytes?: number;
	readonly processes?: number;
	readonly fileBytes?: number;
};

/** What this machine can enforce; a policy that it can't is refused with `unsupported` and this reason. */
export type SandboxSupport =
	| { readonly isEnforced: true; readonly by: string; readonly limits: "cgroup" | "rlimits" }
	| { readonly isEnforced: false; readonly reason: string };

/** Whether a policy asks for anything to be enforced. */
export function isConfined(
	policy: SandboxPolicy | undefined,
): policy is Exclude<SandboxPolicy, { type: "dangerFullAccess" | "externalSandbox" }> {
	return policy !== undefined && policy.type !== "dangerFullAccess" && policy.type !== "externalSandbox";
}
