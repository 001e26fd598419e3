/** The sandbox a client wants its file requests to run in: there is none here, so what needs one is refused. */

import { RpcError, rpcCodes } from "../../json-rpc/error.ts";
import { type Decode, list, object, oneOf, optional, string } from "../../json-rpc/params.ts";

/** What a client wants enforced, as far as it matters here. */
export type Sandbox = { readonly isRestricted: boolean };

const entry = object({
	path: object({ type: oneOf("path", "glob_pattern", "special"), value: optional(object({ kind: string }), null) }),
	access: oneOf("read", "write", "deny"),
});

/** Only what lets everything be written, with no exception, asks for nothing to be enforced. */
const isRestrictedFileSystem: Decode<boolean> = (value, field) => {
	const { type } = object({ type: oneOf("restricted", "unrestricted") })(value, field);
	if (type === "unrestricted") return false;
	const { entries } = object({ entries: list(entry) })(value);
	const hasRoot = entries.some(({ path }) => path.type === "special" && path.value?.kind === "root");
	return !hasRoot || entries.some(({ access }) => access !== "write");
};

const isRestricted: Decode<boolean> = (value, field) => {
	const { type } = object({ type: oneOf("managed", "disabled", "external") })(value, field);
	return type === "managed" && object({ file_system: isRestrictedFileSystem })(value).file_system;
};

/** The `sandbox` member of requests, of files and of processes. */
export const sandbox: Decode<Sandbox> = (value, field) => {
	const { permissions } = object({
		permissions: isRestricted,
		windowsSandboxLevel: oneOf("disabled", "restricted-token", "elevated"),
	})(value, field);
	return { isRestricted: permissions };
};

/** Never runs without a sandbox what was meant to run in one. */
export function refuseSandbox(wanted: Sandbox | null): void {
	if (!wanted?.isRestricted) return;
	throw new RpcError(rpcCodes.invalidRequest, "sandboxed filesystem operations require configured runtime paths");
}
