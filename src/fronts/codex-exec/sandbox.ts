/** The sandbox that a client wants something to run in: its permissions, and the policy that they come to here. */

import { isAbsolute, join } from "node:path";
import { SessionError } from "../../core/errors.ts";
import type { SandboxPath, SandboxPolicy } from "../../core/sandbox.ts";
import { type Decode, list, object, oneOf, optional, refusal, string } from "../json-rpc/params.ts";
import { type PathUri, pathUri } from "./path-uri.ts";

type Access = "read" | "write" | "deny" | "none";

type EntryPath =
	| { readonly type: "path"; readonly path: PathUri }
	| { readonly type: "glob_pattern" }
	| { readonly type: "special"; readonly kind: string; readonly subpath: string | null };

type Entry = { readonly path: EntryPath; readonly access: Access };

type Permissions = {
	/** Undefined where everything may be written. */
	readonly entries: readonly Entry[] | undefined;
	readonly hasNetwork: boolean;
};

/** What a client wants enforced. */
export type SandboxRequest = {
	readonly permissions: Permissions;
	readonly cwd: PathUri | null;
	readonly workspaceRoots: readonly PathUri[];
};

const entryPath: Decode<EntryPath> = (value, field) => {
	const { type } = object({ type: oneOf("path", "glob_pattern", "special") })(value, field);
	if (type === "path") return { type, path: object({ path: pathUri })(value).path };
	if (type === "glob_pattern") return { type };
	const { kind, subpath } = object({ value: object({ kind: string, subpath: optional(string, null) }) })(value).value;
	return { type, kind, subpath };
};

const entry = object({ path: entryPath, access: oneOf("read", "write", "deny", "none") });

const entries: Decode<readonly Entry[] | undefined> = (value, field) => {
	const { type } = object({ type: oneOf("restricted", "unrestricted") })(value, field);
	return type === "unrestricted" ? undefined : object({ entries: list(entry) })(value).entries;
};

const network = optional(oneOf("restricted", "enabled"), "restricted" as const);

const permissions: Decode<Permissions> = (value, field) => {
	const { type } = object({ type: oneOf("managed", "disabled", "external") })(value, field);
	if (type === "disabled") return { entries: undefined, hasNetwork: true };
	const managed = type === "managed" ? object({ file_system: entries })(value).file_system : undefined;
	return { entries: managed, hasNetwork: object({ network })(value).network === "enabled" };
};

const roots = optional(list(pathUri), []);
const context = object({ cwd: optional(pathUri, null), workspaceRoots: roots });

/** The `sandbox` member of requests, of files and of processes. */
export const sandbox: Decode<SandboxRequest> = (value, field) => {
	const decoded = object({
		permissions,
		windowsSandboxLevel: oneOf("disabled", "restricted-token", "elevated"),
		cwd: optional(pathUri, null),
		workspaceRoots: roots,
		policyContext: optional(context, null),
	})(value, field);
	const { policyContext } = decoded;
	return {
		permissions: decoded.permissions,
		cwd: decoded.cwd ?? policyContext?.cwd ?? null,
		workspaceRoots: decoded.workspaceRoots.length > 0 ? decoded.workspaceRoots : (policyContext?.workspaceRoots ?? []),
	};
};

/** Whether some file can't be written: only what lets everything be written, with no exception, restricts none. */
export function restrictsFiles({ permissions: { entries } }: SandboxRequest): boolean {
	if (entries === undefined) return false;
	return !entries.some(({ path }) => isSpecial(path, "root")) || entries.some(({ access }) => access !== "write");
}

/** What stands for the names of a policy that depend on the request. */
export type Surroundings = { readonly cwd: string | undefined; readonly temporaryDirectory: string | undefined };

/** Rejected with `unsupported` where there is no such policy here: nothing runs with less than was asked for. */
export function toPolicy(wanted: SandboxRequest, surroundings: Surroundings): SandboxPolicy {
	const { entries, hasNetwork } = wanted.permissions;
	if (!restrictsFiles(wanted)) {
		if (hasNetwork) return { type: "dangerFullAccess" };
		return { type: "paths", paths: [{ path: "/", access: "write" }] };
	}
	const all = (entries ?? []).flatMap((each) => toPaths(each, wanted, surroundings));
	if (!all.some(({ path }) => path === "/"))
		throw new SessionError("unsupported", "a sandbox in which not every file can be read is not supported");
	// Where two say something of one path, the later counts.
	const paths = all.toSorted((a, b) => strength.indexOf(a.access) - strength.indexOf(b.access));
	return { type: "paths", paths, networkAccess: hasNetwork, skipsMissing: true };
}

const strength: readonly SandboxPath["access"][] = ["read", "write", "none"];

function toPaths({ path, access: asked }: Entry, wanted: SandboxRequest, { cwd, temporaryDirectory }: Surroundings) {
	const access: SandboxPath["access"] = asked === "deny" ? "none" : asked;
	const named = (paths: readonly string[]): SandboxPath[] => paths.map((each) => ({ path: each, access }));
	if (path.type === "path") return named([textOf(path.path)]);
	if (path.type === "glob_pattern")
		throw new SessionError("unsupported", "a sandbox with patterns of paths is not supported");
	switch (path.kind) {
		case "root":
			return named(["/"]);
		case "slash_tmp":
			return named(["/tmp"]);
		case "tmpdir":
			return named(temporaryDirectory !== undefined && isAbsolute(temporaryDirectory) ? [temporaryDirectory] : []);
		case "current_working_directory":
			return named([directory(wanted, cwd)]);
		case "project_roots":
			directory(wanted, cwd);
			return named(wanted.workspaceRoots.map((root) => join(textOf(root), path.subpath ?? ".")));
		default:
			// `minimal` is what every program needs to be read, and newer kinds are not known: neither may be left out
			// where it would take something away.
			if (access === "none") throw new SessionError("unsupported", `a sandbox without "${path.kind}" is not supported`);
			return [];
	}
}

function directory({ cwd }: SandboxRequest, otherwise: string | undefined): string {
	if (cwd !== null) return textOf(cwd);
	if (otherwise !== undefined) return otherwise;
	throw refusal("file system sandbox context with dynamic permissions requires cwd");
}

function isSpecial(path: EntryPath, kind: string): boolean {
	return path.type === "special" && path.kind === kind;
}

/** Mounts are named by text. */
function textOf({ uri, path }: PathUri): string {
	const text = path?.toString();
	if (path && text !== undefined && Buffer.from(text).equals(path)) return text;
	throw refusal(`sandbox URI \`${uri}\` names no path on this exec-server host`);
}
