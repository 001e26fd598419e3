/** Sandbox policies. */

import { limits } from "../messages.ts";
import * as s from "./fields.ts";

const amount = s.optional(s.integer(1));
const confinement = {
	networkAccess: s.optional(s.doc("False if left out.", s.boolean)),
	limits: s.optional(
		s.request(
			"SandboxLimits",
			"Limits of each process in a sandbox. `processes`, and `memoryBytes` where a control group enforces it, limit all of them together.",
			{ cpuSeconds: amount, memoryBytes: amount, processes: amount, fileBytes: amount },
		),
	),
};
const writable = {
	type: s.literal("workspaceWrite"),
	writableRoots: s.optional(
		s.doc("The program's own directory if left out.", s.list(s.path, { maxItems: limits.sandboxPaths })),
	),
	excludeSlashTmp: s.optional(s.boolean),
	...confinement,
};

const readOnly = s.request("ReadOnlySandbox", "The program can read everything and write nothing.", {
	type: s.literal("readOnly"),
	...confinement,
});
const paths = s.request("PathsSandbox", "Each path has its own access.", {
	type: s.literal("paths"),
	paths: s.doc(
		"The longest matching path counts. A path that matches none is readable.",
		s.list(s.closed({ path: s.path, access: s.literals("read", "write", "none") }), { maxItems: limits.sandboxPaths }),
	),
	...confinement,
});

export const sandbox: s.Schema = s.named(
	"SandboxMessage",
	"The files and network that a program can access; `docs/sandbox.md` explains each policy.",
	s.union(
		s.request("NoSandbox", "The program can access everything that the server's user can.", {
			type: s.literal("dangerFullAccess"),
		}),
		s.request("ExternalSandbox", "The program is already in a sandbox of its caller.", {
			type: s.literal("externalSandbox"),
			networkAccess: s.optional(s.literals("restricted", "enabled")),
		}),
		readOnly,
		s.request("WorkspaceWriteSandbox", "The program can write below some directories only.", {
			...writable,
			excludeTmpdirEnvVar: s.optional(s.boolean),
		}),
		paths,
	),
);

/** TMPDIR is chosen by the caller, so it makes nothing writable. */
export const requiredSandbox: s.Schema = s.named(
	"RequiredSandbox",
	"A sandbox that a workspace requires.",
	s.union(
		readOnly,
		s.request("RequiredWorkspaceWriteSandbox", "Programs can write below some directories only, and not in `TMPDIR`.", {
			...writable,
			excludeTmpdirEnvVar: s.yes,
		}),
		paths,
	),
);
