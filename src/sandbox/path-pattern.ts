/** Path patterns as in Codex's permission profiles, and the files that match one now. */

import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { SessionError } from "../core/errors.ts";

/**
 * Limits per pattern: entries searched, and matches, each of which becomes a mount.
 * @limit files that a path pattern of Codex may have to scan | the policy is refused
 */
const MOST_ENTRIES = 200_000;
/** @limit matches of a path pattern of Codex | the policy is refused */
const MOST_MATCHES = 2_000;

/**
 * Converts a pattern of absolute paths to an expression. `*` and `?` do not match a slash, `**` as a whole part matches
 * any number of directories, `[a-z]` and `[!a-z]` match one character, `{a,b}` is an alternative, and a backslash
 * quotes the next character.
 */
export function expressionOf(pattern: string): RegExp {
	let source = "";
	let depth = 0;
	for (let at = 0; at < pattern.length; at++) {
		const rest = pattern.slice(at);
		const [set] = /^\[[!^]?\]?[^\]/]*\]/.exec(rest) ?? [];
		if (rest.startsWith("/**/")) {
			source += "/(?:.*/)?";
			at += 3;
		} else if (rest === "/**") {
			source += "/.+";
			at += 2;
		} else if (rest[0] === "*") {
			source += "[^/]*";
			if (rest[1] === "*") at++;
		} else if (rest[0] === "?") source += "[^/]";
		else if (set !== undefined) {
			const isNegated = set[1] === "!" || set[1] === "^";
			const members = set.slice(isNegated ? 2 : 1, -1).replace(/[\\\]^]/g, "\\$&");
			source += isNegated ? `[^/${members}]` : `[${members}]`;
			at += set.length - 1;
		} else if (rest[0] === "{" && closes(rest)) {
			source += "(?:";
			depth++;
		} else if (rest[0] === "}" && depth > 0) {
			source += ")";
			depth--;
		} else if (rest[0] === "," && depth > 0) source += "|";
		else {
			const letter = rest[0] === "\\" && rest.length > 1 ? pattern.charAt(++at) : rest.charAt(0);
			source += letter.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
		}
	}
	try {
		return new RegExp(`^${source}$`, "su");
	} catch {
		throw new SessionError("invalid_argument", `invalid pattern ${JSON.stringify(pattern)}`);
	}
}

function closes(rest: string): boolean {
	let depth = 0;
	for (const letter of rest) {
		if (letter === "{") depth++;
		if (letter === "}" && --depth === 0) return true;
	}
	return false;
}

/**
 * The files and directories that match a pattern now. Nothing below a match is searched, because it is hidden too, and
 * links are not followed. `maxDepth` counts directories below the part without wildcards.
 */
export async function matchesOf(pattern: string, maxDepth: number): Promise<string[]> {
	const expression = expressionOf(pattern);
	const matches: string[] = [];
	let looked = 0;
	let level = [baseOf(pattern)];
	for (let depth = 1; level.length > 0 && depth <= maxDepth; depth++) {
		const below: string[] = [];
		for (const directory of level) {
			for (const entry of await entriesOf(directory)) {
				if (++looked > MOST_ENTRIES) throw tooMany(pattern, `covers too many files (limit ${MOST_ENTRIES})`);
				const path = join(directory, entry.name);
				if (entry.isSymbolicLink()) continue;
				if (expression.test(path)) matches.push(path);
				else if (entry.isDirectory()) below.push(path);
				if (matches.length > MOST_MATCHES) throw tooMany(pattern, `matches too many files (limit ${MOST_MATCHES})`);
			}
		}
		level = below;
	}
	return matches;
}

/** The directory before the first part with a wildcard. */
function baseOf(pattern: string): string {
	const [plain = "/"] = /^(?:\/[^/*?[{\\]+(?=\/))*/.exec(pattern) ?? [];
	return plain === "" ? "/" : plain;
}

/** Empty for other files and unreadable directories: a program in the sandbox can't read those either. */
async function entriesOf(directory: string): Promise<Dirent[]> {
	try {
		return await readdir(directory, { withFileTypes: true });
	} catch (error) {
		const code = (error as NodeJS.ErrnoException).code ?? "";
		if (["ENOENT", "ENOTDIR", "EACCES"].includes(code)) return [];
		throw error;
	}
}

function tooMany(pattern: string, why: string): SessionError {
	return new SessionError("limit_exceeded", `the pattern ${JSON.stringify(pattern)} ${why}`, {
		hint: "start the pattern with a smaller directory, or limit its depth with glob_scan_max_depth",
	});
}
