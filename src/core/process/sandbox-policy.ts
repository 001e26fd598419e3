/** Sandbox policies. A policy is enforced or refused, never ignored. */

export type SandboxPolicy =
	/** Everything its user may access. */
	| { readonly type: "dangerFullAccess" }
	/** The same; the caller states that the server itself runs in a sandbox. */
	| { readonly type: "externalSandbox"; readonly networkAccess?: "restricted" | "enabled" }
	/** Reads every file, writes none. */
	| ({ readonly type: "readOnly" } & Confinement)
	/** Reads every file, writes only below these directories and those for temporary files. */
	| ({
			readonly type: "workspaceWrite";
			/** Absolute paths. Defaults to the program's own directory. */
			readonly writableRoots?: readonly string[];
			/** Keeps the directory in the program's TMPDIR read-only. */
			readonly excludeTmpdirEnvVar?: boolean;
			readonly excludeSlashTmp?: boolean;
	  } & Confinement)
	/** A rule per path. The longest matching path wins. */
	| ({
			readonly type: "paths";
			readonly paths: readonly SandboxPath[];
			/** Access to all other paths. Defaults to `read`. */
			readonly others?: "read" | "none";
			/** Files that match one of these when the program starts are unreadable. */
			readonly hidden?: readonly SandboxPattern[];
	  } & Confinement);

export type SandboxPath = {
	/** Absolute. */
	readonly path: string;
	readonly access: "read" | "write" | "none";
};

export type SandboxPattern = {
	/** Absolute, with wildcards. */
	readonly pattern: string;
	/** Depth of the search for matches. Unlimited by default. */
	readonly maxDepth?: number;
};

type Confinement = {
	/** Allows the network and the sockets of other processes. Defaults to false. */
	readonly networkAccess?: boolean;
	/** Ignores writable paths that do not exist, as Codex's clients expect. By default they are refused. */
	readonly skipsMissing?: boolean;
	readonly limits?: SandboxLimits;
};

/** Limits per process. `processes`, and with control groups `memoryBytes`, are for all of them together. */
export type SandboxLimits = {
	readonly cpuSeconds?: number;
	readonly memoryBytes?: number;
	readonly processes?: number;
	readonly fileBytes?: number;
};

/** The sandbox support of this machine. Other policies are refused with `unsupported` and the reason. */
export type SandboxSupport =
	| { readonly isEnforced: true; readonly by: string; readonly limits: "cgroup" | "rlimits" }
	| { readonly isEnforced: false; readonly reason: string };

/** A policy that restricts something. */
export type ConfiningPolicy = Exclude<SandboxPolicy, { type: "dangerFullAccess" | "externalSandbox" }>;

/** The policy that a workspace requires for all its programs. */
export type RequiredSandbox = { readonly workspace: string; readonly policy: ConfiningPolicy };

/** Whether a policy restricts anything. */
export function isConfined(policy: SandboxPolicy | undefined): policy is ConfiningPolicy {
	return policy !== undefined && policy.type !== "dangerFullAccess" && policy.type !== "externalSandbox";
}
