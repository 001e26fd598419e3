/** Resolves a policy to mount points: real paths with their access, and the protection of everything else. */

import type { BigIntStats } from "node:fs";
import { lstat, readFile, readlink, realpath, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { SessionError } from "../core/errors.ts";
import type { Command } from "../core/process/process.ts";
import type { ConfiningPolicy, SandboxPath, SandboxPattern } from "../core/process/sandbox-policy.ts";
import { matchesOf } from "./path-pattern.ts";

export type MountPoint = {
	readonly path: string;
	readonly access: SandboxPath["access"];
	/** `missing` needs a placeholder, so that nothing can be created there. */
	readonly kind: "directory" | "file" | "missing";
	/** The file's identity when it was resolved. */
	readonly identity?: { readonly dev: bigint; readonly ino: bigint };
};

export type MountPlan = {
	/** Access to all other paths. */
	readonly rest: SandboxPath["access"];
	/** Parents before children. */
	readonly places: readonly MountPoint[];
	/** If the rest is unreadable: links on the way to mount points, such as /bin, which must be created again. */
	readonly links: readonly Link[];
};

/** A link by its real path, with its target as written. */
type Link = { readonly path: string; readonly target: string };

/** Directories that configure tools. A program that can write there could run code outside of the sandbox. */
const GUARDED = [".git", ".codex", ".agents", ".aws"];

/** These are mounted separately or belong to the machine. No program in a sandbox may write there. */
const RESERVED = ["/proc", "/sys", "/dev"];

/** By path. */
type Found = Map<string, MountPoint>;

/** Plans the mounts of a command. `hidden` are the server's own files. */
export async function planMounts(
	policy: ConfiningPolicy,
	command: Command,
	hidden: readonly string[],
): Promise<MountPlan> {
	const found: Found = new Map();
	for (const asked of askedPaths(policy)) await addAsked(found, asked, policy.skipsMissing === true);
	const implied = (await impliedRoots(policy, command)).map((path) => ({ path, access: "write" }) as const);
	for (const asked of implied) await addAsked(found, asked, true);
	const allAsked = [...askedPaths(policy), ...implied];
	for (const asked of allAsked) await refuseChangeableLinks(found, asked);
	const root = found.get("/");
	const rest = root?.access ?? (policy.type === "paths" ? policy.others : undefined) ?? "read";
	found.delete("/");
	if (policy.type === "paths") for (const hide of policy.hidden ?? []) await addMatches(found, hide);
	// As a workspace it is guarded like any other. A policy of type `paths` lists its protected paths itself.
	if (root && rest === "write" && policy.type === "workspaceWrite") await addGuards(found, root);
	for (const place of [...found.values()]) if (place.access === "write") await addGuards(found, place);
	for (const path of hidden) await addHidden(found, path);
	for (const { path } of [...found.values()]) await addBetween(found, path, rest);
	const places = [...found.values()].filter(({ path, kind, access }) => {
		if (kind === "missing") return isWritable(found, path, rest);
		// A path that is not visible need not be hidden.
		return rest !== "none" || access !== "none" || placesAbove(found, path).length > 0;
	});
	const links = rest === "none" ? await linksTo(found, allAsked) : [];
	return { rest, places: places.sort((a, b) => depth(a.path) - depth(b.path)), links };
}

const strength: Readonly<Record<SandboxPath["access"], number>> = { none: 0, read: 1, write: 2 };

/** The first path to which `asked` gives more access than `most`; undefined if there is none. */
export function exceeding(
	asked: MountPlan,
	most: MountPlan,
): { readonly path: string; readonly most: MountPoint["access"] } | undefined {
	// Access changes only at these paths.
	const changes = ["/", ...asked.places.map(({ path }) => path), ...most.places.map(({ path }) => path)];
	const path = changes.find((each) => strength[accessAt(asked, each)] > strength[accessAt(most, each)]);
	return path === undefined ? undefined : { path, most: accessAt(most, path) };
}

function accessAt({ rest, places }: MountPlan, path: string): MountPoint["access"] {
	// Parents come first.
	return places.findLast((place) => isWithin(path, place.path))?.access ?? rest;
}

async function addMatches(
	found: Found,
	{ pattern, maxDepth = Number.POSITIVE_INFINITY }: SandboxPattern,
): Promise<void> {
	if (!isAbsolute(pattern)) throw invalid(pattern, "a pattern must be an absolute path");
	for (const path of await matchesOf(pattern, maxDepth)) {
		const place = await locate({ path, access: "none" });
		if (place && place.kind !== "missing") found.set(place.path, place);
	}
}

/** The links that are not inside a mount point. */
async function linksTo(found: Found, asked: readonly SandboxPath[]): Promise<Link[]> {
	const all = await Promise.all(asked.filter(({ access }) => access !== "none").map(({ path }) => linksOf(path)));
	const missing = all.flat().filter(({ path }) => placesAbove(found, path).length === 0);
	return [...new Map(missing.map((link) => [link.path, link])).values()];
}

function askedPaths(policy: ConfiningPolicy): readonly SandboxPath[] {
	if (policy.type === "readOnly") return [];
	if (policy.type === "paths") return policy.paths;
	return (policy.writableRoots ?? []).map((path) => ({ path, access: "write" }));
}

/** Writable directories of a workspace that the policy does not list. */
async function impliedRoots(policy: ConfiningPolicy, command: Command): Promise<string[]> {
	if (policy.type !== "workspaceWrite") return [];
	const roots = policy.writableRoots ? [] : [command.cwd];
	if (policy.excludeSlashTmp !== true) roots.push("/tmp");
	const temporary = policy.excludeTmpdirEnvVar === true ? undefined : await temporaryDirectory(command.env.TMPDIR);
	return temporary === undefined ? roots : [...roots, temporary];
}

/** The directory in the program's TMPDIR, if it exists. */
async function temporaryDirectory(named: string | undefined): Promise<string | undefined> {
	if (named === undefined || !isAbsolute(named)) return undefined;
	const path = await ifThere(realpath(named));
	const status = path === undefined ? undefined : await ifThere(stat(path));
	if (!status?.isDirectory()) return undefined;
	if (path === "/") throw new SessionError("invalid_argument", 'TMPDIR is "/", which would make every file writable');
	// As it was written: the path may cross a link that a program in the sandbox has created.
	return named;
}

async function addAsked(found: Found, asked: SandboxPath, skipsMissing: boolean): Promise<void> {
	const place = await locate(asked);
	if (!place && !skipsMissing) throw invalid(asked.path, "there is no such file or directory");
	if (place?.path === "/" && asked.path !== "/") throw invalid(asked.path, 'it leads to "/"');
	if (place?.access === "write") refuseReserved(place.path);
	if (place) found.set(place.path, place);
}

/**
 * A program with write access to a directory can turn any name in it into a link. So a path that crosses a link there
 * is refused: one program must not widen the sandbox of the next, or redirect a protection.
 */
async function refuseChangeableLinks(found: Found, { path, access }: SandboxPath): Promise<void> {
	const writable = [...found.values()].filter((place) => place.access === "write");
	for (const { path: link } of await linksOf(path)) {
		if (!writable.some((place) => isBelow(link, place.path))) continue;
		if (access === "write")
			throw invalid(path, `it crosses the link ${link}, which a program in the sandbox can change`);
		throw crossesLink(path, link);
	}
}

function crossesLink(path: string, link: string): SessionError {
	return new SessionError(
		"invalid_argument",
		`cannot enforce sandbox read-only path ${path}: it crosses writable symlink ${link}`,
	);
}

/** The kernel's limit per path. */
const MOST_LINKS = 40;

/** The links that a path crosses, each with its real directory, in the order in which they are followed. */
async function linksOf(path: string): Promise<Link[]> {
	const links: Link[] = [];
	const left = path.split("/");
	let real = "/";
	for (let part = left.shift(); part !== undefined; part = left.shift()) {
		if (part === "" || part === ".") continue;
		const next = join(real, part);
		const isLink = (await ifThere(lstat(next)))?.isSymbolicLink() === true;
		const target = isLink && links.length < MOST_LINKS ? await ifThere(readlink(next)) : undefined;
		if (target === undefined) {
			real = next;
			continue;
		}
		links.push({ path: next, target });
		left.unshift(...target.split("/"));
		if (isAbsolute(target)) real = "/";
	}
	return links;
}

/** The current file behind all links; undefined if it is missing and would be writable. */
async function locate({ path, access }: SandboxPath): Promise<MountPoint | undefined> {
	if (!isAbsolute(path) || path.includes("\0")) throw invalid(path, "it must be an absolute path");
	const real = await ifThere(realpath(path));
	const status = real === undefined ? undefined : await ifThere(stat(real, { bigint: true }));
	if (real !== undefined && status !== undefined) return { path: real, access, ...describe(status) };
	return access === "write" ? undefined : { ...(await missing(path)), access };
}

/** Sticky and writable for all. */
const SHARED = 0o1002;

/** How native/minder.c marks a placeholder. It is removed when the last program that needs it ends. */
const PLACEHOLDER = { marks: 0o7222n, set: 0o1000n };

function describe(status: BigIntStats): Pick<MountPoint, "kind" | "identity"> {
	const isPlaceholder = status.isDirectory() && (status.mode & PLACEHOLDER.marks) === PLACEHOLDER.set;
	if (isPlaceholder) return { kind: "missing" };
	return { kind: status.isDirectory() ? "directory" : "file", identity: { dev: status.dev, ino: status.ino } };
}

/** The first missing part of a path. While that can't be created, nothing below it can. */
async function missing(path: string): Promise<Pick<MountPoint, "path" | "kind">> {
	const parent = dirname(resolve(path));
	const real = await ifThere(realpath(parent));
	return real === undefined ? missing(parent) : { path: join(real, basename(resolve(path))), kind: "missing" };
}

/** Explicit paths take precedence over guards. */
async function addGuards(found: Found, { path, kind }: MountPoint): Promise<void> {
	if (kind !== "directory") return;
	for (const guard of await guards(path)) if (!found.has(guard.path)) found.set(guard.path, guard);
}

async function guards(directory: string): Promise<MountPoint[]> {
	const all = GUARDED.map(async (name): Promise<MountPoint[]> => {
		const path = join(directory, name);
		const status = await ifThere(lstat(path, { bigint: true }));
		if (status === undefined) return [{ path, access: "read", kind: "missing" }];
		// Any user can create a link in /tmp, and it is not our repository.
		if (status.isSymbolicLink() && Number(status.uid) !== process.getuid?.() && (await isShared(directory))) return [];
		// A program with write access here could redirect the link, and no mount would prevent that.
		if (status.isSymbolicLink()) throw crossesLink(path, path);
		const place: MountPoint = { path, access: "read", ...describe(status) };
		return status.isFile() && name === ".git" ? [place, ...(await gitDirectory(path))] : [place];
	});
	return (await Promise.all(all)).flat();
}

/** Whether all users may create files there, and remove only their own. */
async function isShared(directory: string): Promise<boolean> {
	return ((await stat(directory)).mode & SHARED) === SHARED;
}

/** The repository that the `.git` file of a worktree or submodule points to. */
async function gitDirectory(file: string): Promise<MountPoint[]> {
	const [, named] = /^gitdir: (.+)$/m.exec(await readFile(file, "utf8").catch(() => "")) ?? [];
	if (named === undefined) return [];
	const place = await locate({ path: resolve(dirname(file), named.trim()), access: "read" });
	return place === undefined ? [] : [place];
}

async function addHidden(found: Found, path: string): Promise<void> {
	const place = await locate({ path, access: "none" });
	if (place === undefined || place.kind === "missing") return;
	const inside = [...found.values()].find((other) => other.access === "write" && isWithin(other.path, place.path));
	if (inside) throw invalid(inside.path, "it is in a directory of the server");
	found.set(place.path, place);
}

/**
 * Mounts each writable directory between a mount point and the one above it separately. A directory with a mount on it
 * can't be renamed, but one of its parents could be, with everything in it.
 */
async function addBetween(found: Found, path: string, rest: MountPlan["rest"]): Promise<void> {
	// Nothing can be renamed there, and these mounts must not be covered by the host's.
	if (RESERVED.some((each) => isWithin(path, each))) return;
	const nearest = placesAbove(found, path).sort((a, b) => depth(b.path) - depth(a.path))[0];
	if ((nearest?.access ?? rest) !== "write") return;
	for (let each = dirname(path); isBelow(each, nearest?.path ?? "/"); each = dirname(each)) {
		const place = await locate({ path: each, access: "write" });
		if (place) found.set(place.path, place);
	}
}

function isWritable(found: Found, path: string, rest: MountPlan["rest"]): boolean {
	return rest === "write" || placesAbove(found, path).some(({ access }) => access === "write");
}

function placesAbove(found: Found, path: string): MountPoint[] {
	return [...found.values()].filter((other) => isBelow(path, other.path));
}

function refuseReserved(path: string): void {
	const reserved = RESERVED.find((each) => isWithin(path, each));
	if (reserved !== undefined) throw invalid(path, `nothing in ${reserved} can be made writable`);
}

function invalid(path: string, why: string): SessionError {
	return new SessionError("invalid_argument", `a sandbox can't have ${JSON.stringify(path)}: ${why}`);
}

function depth(path: string): number {
	return path.split("/").length;
}

function isBelow(path: string, above: string): boolean {
	return path.startsWith(above === "/" ? above : `${above}/`) && path !== above;
}

function isWithin(path: string, above: string): boolean {
	return path === above || isBelow(path, above);
}

/** Undefined if the file does not exist or is not accessible. */
async function ifThere<T>(access: Promise<T>): Promise<T | undefined> {
	try {
		return await access;
	} catch (error) {
		const code = (error as NodeJS.ErrnoException).code ?? "";
		if (["ENOENT", "ENOTDIR", "EACCES", "ELOOP"].includes(code)) return undefined;
		throw error;
	}
}
