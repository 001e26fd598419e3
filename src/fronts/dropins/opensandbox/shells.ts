/** Shells and environment variables of programs. */

import { readFile } from "node:fs/promises";
import { findShell } from "../../../services/host/shells.ts";
import type { OpenSandboxOptions } from "./options.ts";

/** The server's environment plus the variables file, with a TERM for terminals. */
export async function shellEnvironment(options: OpenSandboxOptions): Promise<Readonly<Record<string, string>>> {
	const env = options.environment();
	return { TERM: "xterm-256color", ...env, ...(await readEnvFile(options.envFile, env)) };
}

/** `bash`, or `sh` if bash is not in the programs' PATH. */
export async function shellName(env: Readonly<Record<string, string>>): Promise<"bash" | "sh"> {
	const directories = (env.PATH ?? "").split(":").filter((directory) => directory !== "");
	return (await findShell(["bash"], directories)) ? "bash" : "sh";
}

/** An interactive shell, or one that runs `command`. */
export async function shellFor(command: string, env: Readonly<Record<string, string>>): Promise<readonly string[]> {
	const shell = (await shellName(env)) === "bash" ? ["bash", "--norc", "--noprofile"] : ["sh"];
	return command === "" ? shell : [...shell, "-c", command];
}

/**
 * Reads a file of `KEY=VALUE` lines; other lines and comments are ignored. It is read at each start, so that changes
 * apply at once. A missing file is empty.
 */
export async function readEnvFile(
	path: string | undefined,
	env: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, string>>> {
	if (path === undefined || path === "") return {};
	const text = await readFile(path, "utf8").catch(() => "");
	const variables: Record<string, string> = {};
	for (const line of text.split("\n")) {
		const [, name, value] = /^\s*([^#=\s][^=\s]*)\s*=(.*)$/.exec(line.replace(/\r$/, "")) ?? [];
		if (name !== undefined && value !== undefined) variables[name] = expand(value.trim(), env);
	}
	return variables;
}

function expand(value: string, env: Readonly<Record<string, string>>): string {
	return value.replace(/\$(?:\{([^}]*)\}|([A-Za-z_][A-Za-z0-9_]*))/g, (_, braced?: string, plain?: string) => {
		const name = braced ?? plain ?? "";
		return (Object.hasOwn(env, name) ? env[name] : undefined) ?? "";
	});
}
