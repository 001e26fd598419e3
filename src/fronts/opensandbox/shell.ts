/** The shell that runs on a PTY: bash without anybody's settings, or what there is instead. */

import { findShell } from "../find-shell.ts";
import { readEnvFile } from "./env-file.ts";
import type { OpenSandboxParts } from "./options.ts";

/** The daemon's environment with what the file of variables adds; what is on a terminal must know which one. */
export async function shellEnvironment(parts: OpenSandboxParts): Promise<Readonly<Record<string, string>>> {
	const env = parts.environment();
	return { TERM: "xterm-256color", ...env, ...(await readEnvFile(parts.envFile, env)) };
}

/** An interactive shell, or one that carries out a command. */
export async function shellFor(command: string, env: Readonly<Record<string, string>>): Promise<readonly string[]> {
	const shell = (await findShell(env)) === "bash" ? ["bash", "--norc", "--noprofile"] : ["sh"];
	return command === "" ? shell : [...shell, "-c", command];
}
