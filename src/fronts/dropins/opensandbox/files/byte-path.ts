/**
 * Paths as bytes, because names on disk need not be UTF-8.
 *
 * Each character of a byte path stands for one byte (Latin-1), so string functions apply. Convert with `onDisk` for the
 * kernel and `shown` for people.
 */

import { posix } from "node:path";
import { ExecdError } from "../errors.ts";

declare const isBytes: unique symbol;

export type BytePath = string & { readonly [isBytes]: true };

export function fromBytes(bytes: Buffer): BytePath {
	return bytes.toString("latin1") as BytePath;
}

export function fromText(text: string): BytePath {
	return fromBytes(Buffer.from(text));
}

/** The path for the kernel. */
export function onDisk(path: BytePath): Buffer {
	return Buffer.from(path, "latin1");
}

/** The path for people; invalid UTF-8 becomes U+FFFD. */
export function shown(path: BytePath): string {
	return onDisk(path).toString("utf8");
}

export function join(directory: BytePath, name: BytePath): BytePath {
	return (directory.endsWith("/") ? directory + name : `${directory}/${name}`) as BytePath;
}

export function parentOf(path: BytePath): BytePath {
	return posix.dirname(path) as BytePath;
}

export function baseOf(path: BytePath): BytePath {
	return posix.basename(path) as BytePath;
}

/** Absolute and normalized. Links are not resolved. */
export function resolve(from: BytePath, path: BytePath): BytePath {
	return posix.resolve(from, path) as BytePath;
}

/** Used to expand the paths of requests. */
export type PathContext = {
	readonly env: Readonly<Record<string, string>>;
	readonly cwd: string;
};

/** Expands `$NAME`, `${NAME}` and a leading `~` with the server's environment. Any other `$` is literal. */
function expand(given: BytePath, { env }: PathContext): BytePath {
	const missing: string[] = [];
	const expanded = given.replace(
		/\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))/g,
		(_, braced?: string, plain?: string) => {
			const name = braced ?? plain ?? "";
			const value = Object.hasOwn(env, name) ? env[name] : undefined;
			if (value === undefined) missing.push(name);
			return fromText(value ?? "");
		},
	);
	if (missing.length > 0) throw failure(`path references undefined environment variables: ${missing.join(",")}`);
	if (!/^~(?=[/\\]|$)/.test(expanded)) return expanded as BytePath;
	const home = env.HOME;
	if (home === undefined || home === "") throw failure("cannot expand ~: HOME is not set");
	return expanded.replace(/^~[/\\]?/, () => join(fromText(home), "" as BytePath)) as BytePath;
}

/** Absolute and normalized, as most routes take a path. */
export function absolute(given: BytePath, around: PathContext): BytePath {
	return resolve(fromText(around.cwd), expand(given, around));
}

/** Absolute but not normalized, as some routes take a path. */
export function absoluteLiteral(given: BytePath, around: PathContext): BytePath {
	const path = expand(given, around);
	return path.startsWith("/") ? path : join(fromText(around.cwd), path);
}

function failure(message: string): ExecdError {
	return new ExecdError(500, "RUNTIME_ERROR", message);
}
