/** Decodes the client's sandbox permissions and converts them to a policy of the core. */

import { isAbsolute, join, resolve } from "node:path";
import { SessionError } from "../../../core/errors.ts";
import type { SandboxPath, SandboxPolicy } from "../../../core/process/sandbox-policy.ts";
import * as rpc from "../../json-rpc/params.ts";
import { type PathUri, pathUri } from "./path-uri.ts";

type Access = "read" | "write" | "deny" | "none";

type EntryPath =
	| { readonly type: "path"; readonly path: PathUri }
	| { readonly type: "glob_pattern"; readonly pattern: string }
	| { readonly type: "special"; readonly kind: string; readonly subpath: string | null };

type Entry = { readonly path: EntryPath; readonly access: Access };

type Permissions = {
	/** Undefined if everything may be written. */
	readonly entries: readonly Entry[] | undefined;
	/** Search depth for patterns; unlimited if undefined. */
	readonly patternDepth?: number | undefined;
	readonly hasNetwork: boolean;
};

/** The restrictions requested by a client. */
export type SandboxRequest = {
	readonly permissions: Permissions;
	readonly cwd: PathUri | null;
	readonly workspaceRoots: readonly PathUri[];
};

const entryPath: rpc.Decode<EntryPath> = (value, field) => {
	const { type } = rpc.object({ type: rpc.oneOf("path", "glob_pattern", "special") })(value, field);
	if (type === "path") return { type, path: rpc.object({ path: pathUri })(value).path };
	if (type === "glob_pattern") return { type, pattern: rpc.object({ pattern: rpc.string })(value).pattern };
	const { kind, subpath } = rpc.object({
		value: rpc.object({ kind: rpc.string, subpath: rpc.optional(rpc.string, null) }),
	})(value).value;
	return { type, kind, subpath };
};

const entry = rpc.object({ path: entryPath, access: rpc.oneOf("read", "write", "deny", "none") });

const fileSystem: rpc.Decode<Pick<Permissions, "entries" | "patternDepth">> = (value, field) => {
	const { type } = rpc.object({ type: rpc.oneOf("restricted", "unrestricted") })(value, field);
	if (type === "unrestricted") return { entries: undefined };
	const { entries, glob_scan_max_depth } = rpc.object({
		entries: rpc.list(entry),
		glob_scan_max_depth: rpc.optional(rpc.unsigned, null),
	})(value);
	return { entries, patternDepth: glob_scan_max_depth ?? undefined };
};

const network = rpc.optional(rpc.oneOf("restricted", "enabled"), "restricted" as const);

const permissions: rpc.Decode<Permissions> = (value, field) => {
	const { type } = rpc.object({ type: rpc.oneOf("managed", "disabled", "external") })(value, field);
	if (type === "disabled") return { entries: undefined, hasNetwork: true };
	const managed =
		type === "managed" ? rpc.object({ file_system: fileSystem })(value).file_system : { entries: undefined };
	return { ...managed, hasNetwork: rpc.object({ network })(value).network === "enabled" };
};

const roots = rpc.optional(rpc.list(pathUri), []);
const context = rpc.object({ cwd: rpc.optional(pathUri, null), workspaceRoots: roots });

/** The `sandbox` member of file and process requests. */
export const sandbox: rpc.Decode<SandboxRequest> = (value, field) => {
	const decoded = rpc.object({
		permissions,
		windowsSandboxLevel: rpc.oneOf("disabled", "restricted-token", "elevated"),
		cwd: rpc.optional(pathUri, null),
		workspaceRoots: roots,
		policyContext: rpc.optional(context, null),
	})(value, field);
	const { policyContext } = decoded;
	return {
		permissions: decoded.permissions,
		cwd: decoded.cwd ?? policyContext?.cwd ?? null,
		workspaceRoots: decoded.workspaceRoots.length > 0 ? decoded.workspaceRoots : (policyContext?.workspaceRoots ?? []),
	};
};

/** Whether any file is read-only or hidden. */
export function restrictsFiles({ permissions: { entries } }: SandboxRequest): boolean {
	if (entries === undefined) return false;
	return !entries.some(({ path }) => isSpecial(path, "root")) || entries.some(({ access }) => access !== "write");
}

/** Values of the policy names that depend on the request. */
export type PolicyContext = { readonly cwd: string | undefined; readonly temporaryDirectory: string | undefined };

/** Throws `unsupported` if the policy can't be expressed: nothing runs with weaker restrictions than requested. */
export function toPolicy(wanted: SandboxRequest, context: PolicyContext): SandboxPolicy {
	const { entries = [], patternDepth, hasNetwork } = wanted.permissions;
	if (!restrictsFiles(wanted)) {
		if (hasNetwork) return { type: "dangerFullAccess" };
		return { type: "paths", paths: [{ path: "/", access: "write" }] };
	}
	const all = entries.flatMap((each) => toPaths(each, wanted, context));
	const maxDepth = patternDepth === undefined ? {} : { maxDepth: patternDepth };
	const hidden = entries.flatMap((each) => toPatterns(each, wanted)).map((pattern) => ({ pattern, ...maxDepth }));
	// If two entries name the same path, the later one in this order wins.
	const paths = all.toSorted((a, b) => strength.indexOf(a.access) - strength.indexOf(b.access));
	// Paths that no entry names are hidden, unless an entry names the root.
	return { type: "paths", paths, others: "none", hidden, networkAccess: hasNetwork, skipsMissing: true };
}

/** The client's prefix for a pattern in each of the workspace roots. */
const IN_PROJECT_ROOTS = "codex-project-roots://";

/** Patterns may only hide paths. A relative pattern applies to each workspace root. */
function toPatterns({ path, access }: Entry, { cwd, workspaceRoots }: SandboxRequest): readonly string[] {
	if (path.type !== "glob_pattern") return [];
	if (access !== "deny" && access !== "none")
		throw new SessionError(
			"unsupported",
			`a sandbox with the access "${access}" for a pattern of paths is not supported`,
		);
	if (isAbsolute(path.pattern)) return [path.pattern];
	const relative = path.pattern.startsWith(IN_PROJECT_ROOTS)
		? path.pattern.slice(IN_PROJECT_ROOTS.length)
		: path.pattern;
	if (/^[a-z][a-z0-9+.-]*:\/\//i.test(relative))
		throw new SessionError(
			"unsupported",
			`a sandbox with the pattern ${JSON.stringify(path.pattern)} is not supported`,
		);
	const bases = workspaceRoots.length > 0 ? workspaceRoots : cwd === null ? [] : [cwd];
	return bases.map((base) => join(textOf(base).replace(/[*?[\]{}\\]/g, "\\$&"), relative));
}

/** Paths that programs need to start, as Codex lists them for Linux. */
const PLATFORM = ["/bin", "/sbin", "/usr", "/etc", "/lib", "/lib64", "/nix/store", "/run/current-system/sw"];

const strength: readonly SandboxPath["access"][] = ["read", "write", "none"];

function toPaths({ path, access: asked }: Entry, wanted: SandboxRequest, { cwd, temporaryDirectory }: PolicyContext) {
	const access: SandboxPath["access"] = asked === "deny" ? "none" : asked;
	const named = (paths: readonly string[]): SandboxPath[] => paths.map((each) => ({ path: each, access }));
	if (path.type === "path") return named([textOf(path.path)]);
	if (path.type === "glob_pattern") return [];
	switch (path.kind) {
		case "root":
			return named(["/"]);
		case "slash_tmp":
			return named(["/tmp"]);
		case "tmpdir":
			return named(temporary(temporaryDirectory));
		case "current_working_directory":
			return named([directory(wanted, cwd)]);
		case "project_roots":
			directory(wanted, cwd);
			return named(wanted.workspaceRoots.map((root) => join(textOf(root), path.subpath ?? ".")));
		case "minimal":
			if (access === "write")
				throw new SessionError("unsupported", 'a sandbox that may write to "minimal" is not supported');
			return named(PLATFORM);
		default:
			// A newer kind that takes something away must not be ignored.
			if (access === "none") throw new SessionError("unsupported", `a sandbox without "${path.kind}" is not supported`);
			return [];
	}
}

function temporary(named: string | undefined): readonly string[] {
	if (named === undefined || !isAbsolute(named)) return [];
	if (resolve(named) === "/") throw rpc.refusal('TMPDIR is "/", which would make every file writable');
	return [named];
}

function directory({ cwd }: SandboxRequest, otherwise: string | undefined): string {
	if (cwd !== null) return textOf(cwd);
	if (otherwise !== undefined) return otherwise;
	throw rpc.refusal("file system sandbox context with dynamic permissions requires cwd");
}

function isSpecial(path: EntryPath, kind: string): boolean {
	return path.type === "special" && path.kind === kind;
}

/** Mounts need paths that are UTF-8. */
function textOf({ uri, path }: PathUri): string {
	const text = path?.toString();
	if (path && text !== undefined && Buffer.from(text).equals(path)) return text;
	throw rpc.refusal(`sandbox URI \`${uri}\` names no path on this exec-server host`);
}
