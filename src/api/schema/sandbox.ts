/** Sandbox policies. */

import { limits } from "../messages.ts";
import {
	boolean,
	closed,
	doc,
	integer,
	list,
	literal,
	literals,
	named,
	optional,
	path,
	request,
	type Schema,
	union,
	yes,
} from "./fields.ts";

const amount = optional(integer(1));
const confinement = {
	networkAccess: optional(doc("False if left out.", boolean)),
	limits: optional(
		request(
			"SandboxLimits",
			"Limits of each process in a sandbox. `processes`, and `memoryBytes` where a control group enforces it, limit all of them together.",
			{ cpuSeconds: amount, memoryBytes: amount, processes: amount, fileBytes: amount },
		),
	),
};
const writable = {
	type: literal("workspaceWrite"),
	writableRoots: optional(
		doc("The program's own directory if left out.", list(path, { maxItems: limits.sandboxPaths })),
	),
	excludeSlashTmp: optional(boolean),
	...confinement,
};

const readOnly = request("ReadOnlySandbox", "The program can read everything and write nothing.", {
	type: literal("readOnly"),
	...confinement,
});
const paths = request("PathsSandbox", "Each path has its own access.", {
	type: literal("paths"),
	paths: doc(
		"The longest matching path counts. A path that matches none is readable.",
		list(closed({ path, access: literals("read", "write", "none") }), { maxItems: limits.sandboxPaths }),
	),
	...confinement,
});

export const sandbox: Schema = named(
	"SandboxMessage",
	"The files and network that a program can access; `docs/sandbox.md` explains each policy.",
	union(
		request("NoSandbox", "The program can access everything that the server's user can.", {
			type: literal("dangerFullAccess"),
		}),
		request("ExternalSandbox", "The program is already in a sandbox of its caller.", {
			type: literal("externalSandbox"),
			networkAccess: optional(literals("restricted", "enabled")),
		}),
		readOnly,
		request("WorkspaceWriteSandbox", "The program can write below some directories only.", {
			...writable,
			excludeTmpdirEnvVar: optional(boolean),
		}),
		paths,
	),
);

/** TMPDIR is chosen by the caller, so it makes nothing writable. */
export const requiredSandbox: Schema = named(
	"RequiredSandbox",
	"A sandbox that a workspace requires.",
	union(
		readOnly,
		request("RequiredWorkspaceWriteSandbox", "Programs can write below some directories only, and not in `TMPDIR`.", {
			...writable,
			excludeTmpdirEnvVar: yes,
		}),
		paths,
	),
);
