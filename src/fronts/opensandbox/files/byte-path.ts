/**
 * Paths as they are on the disk: bytes, which need not be text.
 *
 * Each character of a byte path stands for one byte, so that all that can be done with text can be done with it.
 * It becomes bytes for the kernel, and text, as far as it is any, for people.
 */

import { posix } from "node:path";
import { ExecdError } from "../answers.ts";

declare const isBytes: unique symbol;

export type BytePath = string & { readonly [isBytes]: true };

export function fromBytes(bytes: Buffer): BytePath {
	return bytes.toString("latin1") as BytePath;
}

export function fromText(text: string): BytePath {
	return fromBytes(Buffer.from(text));
}

/** For the kernel. */
export function onDisk(path: BytePath): Buffer {
	return Buffer.from(path, "latin1");
}

/** For people; what is no text becomes U+FFFD. */
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

/** Absolute, without `.`, `..` and slashes that say nothing; links are not looked at. */
export function resolve(from: BytePath, path: BytePath): BytePath {
	return posix.resolve(from, path) as BytePath;
}

/** What paths of requests are expanded from. */
export type Surroundings = {
	readonly env: Readonly<Record<string, string>>;
	readonly cwd: string;
};

/** As requests name them: `$NAME`, `${NAME}` and a `~` in front stand for what the daemon has. Any other `$` is a `$`. */
export function expand(given: BytePath, { env }: Surroundings): BytePath {
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
	if (home === undefined || home === "") throw failure("the home directory is not known: HOME is not set");
	return expanded.replace(/^~[/\\]?/, () => join(fromText(home), "" as BytePath)) as BytePath;
}

/** Where it is, without looking: most routes take a path so. */
export function absolute(given: BytePath, around: Surroundings): BytePath {
	return resolve(fromText(around.cwd), expand(given, around));
}

/** The same path, from the root on: some routes take it to the letter. */
export function toTheLetter(given: BytePath, around: Surroundings): BytePath {
	const path = expand(given, around);
	return path.startsWith("/") ? path : join(fromText(around.cwd), path);
}

function failure(message: string): ExecdError {
	return new ExecdError(500, "RUNTIME_ERROR", message);
}
