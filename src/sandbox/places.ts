/** From a policy to the places it names: real paths, each with what may be done there, and what guards the rest. */

import type { BigIntStats } from "node:fs";
import { lstat, readFile, realpath, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { SessionError } from "../core/errors.ts";
import type { Command } from "../core/process.ts";
import type { SandboxPath, SandboxPolicy } from "../core/sandbox.ts";

export type Confined = Exclude<SandboxPolicy, { type: "dangerFullAccess" | "externalSandbox" }>;

export type Place = {
	readonly path: string;
	readonly access: SandboxPath["access"];
	/** A directory unless it is a file; `missing` where a placeholder must stand, so that nothing can be made. */
	readonly kind: "directory" | "file" | "missing";
	/** What it was when it was looked at. */
	readonly identity?: { readonly dev: bigint; readonly ino: bigint };
};

export type Places = {
	/** What may be done with whatever no place names. */
	readonly rest: "read" | "write";
	/** Those above before those below. */
	readonly places: readonly Place[];
};

/** What steers the tools that work in a directory: whoever writes there gives them orders. */
const GUARDED = [".git", ".codex", ".agents", ".aws"];

/** These are mounted anew, or show the machine itself: no program in a sandbox writes there. */
const RESERVED = ["/proc", "/sys", "/dev"];

/** By their paths. */
type Found = Map<string, Place>;

/** `hidden` is nobody's business but ours. */
export async function findPlaces(policy: Confined, command: Command, hidden: readonly string[]): Promise<Places> {
	const found: Found = new Map();
	for (const asked of askedPaths(policy)) await addAsked(found, asked, policy.skipsMissing === true);
	for (const path of await impliedRoots(policy, command)) await addAsked(found, { path, access: "write" }, true);
	const root = found.get("/");
	const rest = root?.access ?? "read";
	if (rest === "none") throw invalid("/", "a sandbox in which nothing can be read is not supported");
	found.delete("/");
	// As a workspace it is guarded like any other; who names it path by path says what is not to be written.
	if (root && rest === "write" && policy.type === "workspaceWrite") await addGuards(found, root);
	for (const place of [...found.values()]) if (place.access === "write") await addGuards(found, place);
	for (const path of hidden) await addHidden(found, path);
	for (const { path } of [...found.values()]) await addBetween(found, path, rest);
	const places = [...found.values()].filter(({ path, kind }) => kind !== "missing" || isWritable(found, path, rest));
	return { rest, places: places.sort((a, b) => depth(a.path) - depth(b.path)) };
}

function askedPaths(policy: Confined): readonly SandboxPath[] {
	if (policy.type === "readOnly") return [];
	if (policy.type === "paths") return policy.paths;
	return (policy.writableRoots ?? []).map((path) => ({ path, access: "write" }));
}

/** What a workspace has besides what was named. */
async function impliedRoots(policy: Confined, command: Command): Promise<string[]> {
	if (policy.type !== "workspaceWrite") return [];
	const roots = policy.writableRoots ? [] : [command.cwd];
	if (policy.excludeSlashTmp !== true) roots.push("/tmp");
	const temporary = policy.excludeTmpdirEnvVar === true ? undefined : await temporaryDirectory(command.env.TMPDIR);
	return temporary === undefined ? roots : [...roots, temporary];
}

/** What TMPDIR names for the program, if there is such a directory; it need not be what whoever made the policy had in mind. */
async function temporaryDirectory(named: string | undefined): Promise<string | undefined> {
	if (named === undefined || !isAbsolute(named)) return undefined;
	const path = await ifThere(realpath(named));
	const status = path === undefined ? undefined : await ifThere(stat(path));
	if (!status?.isDirectory()) return undefined;
	if (path === "/") throw new SessionError("invalid_argument", 'TMPDIR is "/", which would make every file writable');
	return path;
}

async function addAsked(found: Found, asked: SandboxPath, skipsMissing: boolean): Promise<void> {
	const place = await locate(asked);
	if (!place && !skipsMissing) throw invalid(asked.path, "there is no such file or directory");
	if (place?.path === "/" && asked.path !== "/") throw invalid(asked.path, 'it leads to "/"');
	if (place?.access === "write") refuseReserved(place.path);
	if (place) found.set(place.path, place);
}

/** What is there now, behind all links; undefined for what may be written and is not there. */
async function locate({ path, access }: SandboxPath): Promise<Place | undefined> {
	if (!isAbsolute(path) || path.includes("\0")) throw invalid(path, "it must be an absolute path");
	const real = await ifThere(realpath(path));
	const status = real === undefined ? undefined : await ifThere(stat(real, { bigint: true }));
	if (real !== undefined && status !== undefined) return { path: real, access, ...describe(status) };
	return access === "write" ? undefined : { ...(await missing(path)), access };
}

/** Sticky, and open to all. */
const SHARED = 0o1002;

/** How native/minder.c marks a placeholder: whoever needs it now, it is gone when they are. */
const PLACEHOLDER = { marks: 0o7222n, set: 0o1000n };

function describe(status: BigIntStats): Pick<Place, "kind" | "identity"> {
	const isPlaceholder = status.isDirectory() && (status.mode & PLACEHOLDER.marks) === PLACEHOLDER.set;
	if (isPlaceholder) return { kind: "missing" };
	return { kind: status.isDirectory() ? "directory" : "file", identity: { dev: status.dev, ino: status.ino } };
}

/** The first part of a path that is not there: while that can't be made, nothing below it can. */
async function missing(path: string): Promise<Pick<Place, "path" | "kind">> {
	const parent = dirname(resolve(path));
	const real = await ifThere(realpath(parent));
	return real === undefined ? missing(parent) : { path: join(real, basename(resolve(path))), kind: "missing" };
}

/** What was asked for by name goes before what nobody asked for. */
async function addGuards(found: Found, { path, kind }: Place): Promise<void> {
	if (kind !== "directory") return;
	for (const guard of await guards(path)) if (!found.has(guard.path)) found.set(guard.path, guard);
}

async function guards(directory: string): Promise<Place[]> {
	const all = GUARDED.map(async (name): Promise<Place[]> => {
		const path = join(directory, name);
		const status = await ifThere(lstat(path, { bigint: true }));
		if (status === undefined) return [{ path, access: "read", kind: "missing" }];
		// In /tmp anybody may make one, and it is no repository of ours.
		if (status.isSymbolicLink() && Number(status.uid) !== process.getuid?.() && (await isShared(directory))) return [];
		// Whoever may write here could turn the link around, and no mount would hold that up.
		if (status.isSymbolicLink())
			throw new SessionError(
				"invalid_argument",
				`cannot enforce sandbox read-only path ${path}: it crosses writable symlink ${path}`,
			);
		const place: Place = { path, access: "read", ...describe(status) };
		return status.isFile() && name === ".git" ? [place, ...(await gitDirectory(path))] : [place];
	});
	return (await Promise.all(all)).flat();
}

/** Whether everybody may make files there, and each only remove their own. */
async function isShared(directory: string): Promise<boolean> {
	return ((await stat(directory)).mode & SHARED) === SHARED;
}

/** Where the `.git` of a worktree or a submodule says that the repository is. */
async function gitDirectory(file: string): Promise<Place[]> {
	const [, named] = /^gitdir: (.+)$/m.exec(await readFile(file, "utf8").catch(() => "")) ?? [];
	if (named === undefined) return [];
	const place = await locate({ path: resolve(dirname(file), named.trim()), access: "read" });
	return place === undefined ? [] : [place];
}

async function addHidden(found: Found, path: string): Promise<void> {
	const place = await locate({ path, access: "none" });
	if (place === undefined || place.kind === "missing") return;
	const inside = [...found.values()].find((other) => other.access === "write" && isWithin(other.path, place.path));
	if (inside) throw invalid(inside.path, "it is in a directory of the server itself");
	found.set(place.path, place);
}

/**
 * What lies between a place and another, above it, that may be written: each becomes a mount of its own. A directory
 * on which something is mounted can't be renamed, but one above it could, and everything in it with it.
 */
async function addBetween(found: Found, path: string, rest: Places["rest"]): Promise<void> {
	// There nothing can be renamed, and what is mounted over them must not be covered by what the host has.
	if (RESERVED.some((each) => isWithin(path, each))) return;
	const nearest = placesAbove(found, path).sort((a, b) => depth(b.path) - depth(a.path))[0];
	if ((nearest?.access ?? rest) !== "write") return;
	for (let each = dirname(path); isBelow(each, nearest?.path ?? "/"); each = dirname(each)) {
		const place = await locate({ path: each, access: "write" });
		if (place) found.set(place.path, place);
	}
}

function isWritable(found: Found, path: string, rest: Places["rest"]): boolean {
	return rest === "write" || placesAbove(found, path).some(({ access }) => access === "write");
}

function placesAbove(found: Found, path: string): Place[] {
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

/** Undefined when it is not there, or nobody may look. */
async function ifThere<T>(look: Promise<T>): Promise<T | undefined> {
	try {
		return await look;
	} catch (error) {
		const code = (error as NodeJS.ErrnoException).code ?? "";
		if (["ENOENT", "ENOTDIR", "EACCES", "ELOOP"].includes(code)) return undefined;
		throw error;
	}
}
