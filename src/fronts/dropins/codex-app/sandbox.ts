/** Decodes the client's sandbox policy and converts it to a policy of the core (contract §3.1). */

import { isAbsolute } from "node:path";
import type { SandboxPolicy } from "../../../core/process/sandbox-policy.ts";
import * as rpc from "../../json-rpc/params.ts";
import { invalidRequest } from "./errors.ts";

const types = ["dangerFullAccess", "readOnly", "externalSandbox", "workspaceWrite"] as const;
const tagged = rpc.object({ type: rpc.oneOf(...types) });

/** Older clients send a read access here. Full access is still accepted; the removed kinds are refused. */
function access(member: string): rpc.Decode<void> {
	const decode = rpc.object({ type: rpc.oneOf("fullAccess", "restricted") });
	return (value) => {
		if (value === undefined || value === null || decode(value).type === "fullAccess") return;
		throw rpc.refusal(`${member} is no longer supported; use permissionProfile for restricted reads`);
	};
}

/** An absolute path. Others are refused with the text of Codex's server. */
export const absolutePath: rpc.Decode<string> = (value, field) => {
	const path = rpc.string(value, field);
	if (!isAbsolute(path)) throw rpc.refusal("AbsolutePathBuf deserialized without a base path");
	return path;
};

const isAllowed = rpc.unlessAbsent(rpc.boolean, false);
const readOnly = rpc.object({ networkAccess: isAllowed, access: access("readOnly.access") });
const workspaceWrite = rpc.object({
	writableRoots: rpc.unlessAbsent(rpc.list(absolutePath), []),
	networkAccess: isAllowed,
	excludeTmpdirEnvVar: isAllowed,
	excludeSlashTmp: isAllowed,
	readOnlyAccess: access("workspaceWrite.readOnlyAccess"),
});
const externalSandbox = rpc.object({
	networkAccess: rpc.unlessAbsent(rpc.oneOf("restricted", "enabled"), "restricted" as const),
});

export const sandboxPolicy: rpc.Decode<SandboxPolicy> = (value, field) => {
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

/** A profile names no roots, so the core uses the command's directory as its workspace. */
const profiles: Readonly<Record<string, SandboxPolicy>> = {
	":danger-full-access": { type: "dangerFullAccess" },
	":read-only": { type: "readOnly" },
	":workspace": { type: "workspaceWrite" },
};

/** One of the built-in profiles. Custom profiles are not supported. */
export function profilePolicy(id: string): SandboxPolicy {
	const policy = Object.hasOwn(profiles, id) ? profiles[id] : undefined;
	if (policy) return policy;
	const known = Object.keys(profiles).join(", ");
	throw invalidRequest(`invalid permission profile: there is no ${JSON.stringify(id)}, only ${known}`);
}

/** Adds the workspace directory to the writable roots. */
export function inWorkspace(policy: SandboxPolicy, workspace: string): SandboxPolicy {
	if (policy.type !== "workspaceWrite") return policy;
	return { ...policy, writableRoots: [workspace, ...(policy.writableRoots ?? [])], skipsMissing: true };
}

export function isNetworkRestricted(policy: SandboxPolicy): boolean {
	if (policy.type === "dangerFullAccess") return false;
	return policy.networkAccess !== true && policy.networkAccess !== "enabled";
}
