/** The sandbox that a client wants its command to run in, and the policy that this comes to here (contract §3.1). */

import { isAbsolute } from "node:path";
import type { SandboxPolicy } from "../../core/sandbox.ts";
import { boolean, type Decode, list, object, oneOf, refusal, string, unlessAbsent } from "../json-rpc/params.ts";
import { refused } from "./errors.ts";

const types = ["dangerFullAccess", "readOnly", "externalSandbox", "workspaceWrite"] as const;
const tagged = object({ type: oneOf(...types) });

/** Older clients say here how much may be read; all of it, as ever since, or something that is no longer there. */
function access(member: string): Decode<void> {
	const decode = object({ type: oneOf("fullAccess", "restricted") });
	return (value) => {
		if (value === undefined || value === null || decode(value).type === "fullAccess") return;
		throw refusal(`${member} is no longer supported; use permissionProfile for restricted reads`);
	};
}

/** An absolute path, in the words of the real server for any other. */
export const absolutePath: Decode<string> = (value, field) => {
	const path = string(value, field);
	if (!isAbsolute(path)) throw refusal("AbsolutePathBuf deserialized without a base path");
	return path;
};

const isAllowed = unlessAbsent(boolean, false);
const readOnly = object({ networkAccess: isAllowed, access: access("readOnly.access") });
const workspaceWrite = object({
	writableRoots: unlessAbsent(list(absolutePath), []),
	networkAccess: isAllowed,
	excludeTmpdirEnvVar: isAllowed,
	excludeSlashTmp: isAllowed,
	readOnlyAccess: access("workspaceWrite.readOnlyAccess"),
});
const externalSandbox = object({ networkAccess: unlessAbsent(oneOf("restricted", "enabled"), "restricted" as const) });

export const sandboxPolicy: Decode<SandboxPolicy> = (value, field) => {
	const { type } = tagged(value, field);
	switch (type) {
		case "dangerFullAccess":
			return { type };
		case "externalSandbox":
			return { type, ...externalSandbox(value) };
		case "readOnly": {
			const { networkAccess } = readOnly(value);
			return { type, networkAccess };
		}
		case "workspaceWrite": {
			const { readOnlyAccess: _, ...policy } = workspaceWrite(value);
			return { type, ...policy };
		}
	}
};

/** Of a profile, the workspace is the command's directory, as the core has it of every policy that names no roots. */
const profiles: Readonly<Record<string, SandboxPolicy>> = {
	":danger-full-access": { type: "dangerFullAccess" },
	":read-only": { type: "readOnly" },
	":workspace": { type: "workspaceWrite" },
};

/** One of the profiles that every server has; there are no others here. */
export function profilePolicy(id: string): SandboxPolicy {
	const policy = Object.hasOwn(profiles, id) ? profiles[id] : undefined;
	if (policy) return policy;
	const known = Object.keys(profiles).join(", ");
	throw refused(`invalid permission profile: there is no ${JSON.stringify(id)}, only ${known}`);
}

/** The policy with the directory that it calls the workspace among those that may be written to. */
export function inWorkspace(policy: SandboxPolicy, workspace: string): SandboxPolicy {
	if (policy.type !== "workspaceWrite") return policy;
	return { ...policy, writableRoots: [workspace, ...(policy.writableRoots ?? [])], skipsMissing: true };
}

export function isNetworkRestricted(policy: SandboxPolicy): boolean {
	if (policy.type === "dangerFullAccess") return false;
	return policy.networkAccess !== true && policy.networkAccess !== "enabled";
}
