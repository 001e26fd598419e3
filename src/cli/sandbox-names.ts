/** Names of sandbox policies on the command line. */

export const sandboxTypes = {
	"read-only": "readOnly",
	"workspace-write": "workspaceWrite",
	"danger-full-access": "dangerFullAccess",
} as const;

export type SandboxName = keyof typeof sandboxTypes;

export const sandboxNames: readonly string[] = Object.keys(sandboxTypes);
