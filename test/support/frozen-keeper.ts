/** The keeper of version 0.1.0 (test/fixtures/keeper-0.1.0), ready to run. */

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { platform } from "../../native/platform.js";

const fixture = fileURLToPath(new URL("../fixtures/keeper-0.1.0", import.meta.url));
const headers = fileURLToPath(new URL("../../node_modules/node-api-headers/include", import.meta.url));

/** Compiled as static programs; all other sources make the addon. */
const PROGRAMS = ["minder", "confine"];

/** Copies the keeper into its own directory and compiles its C sources there. The caller removes the directory. */
export function buildFrozenKeeper(): { readonly program: string; readonly directory: string } {
	const directory = mkdtempSync(join(tmpdir(), "hawser-keeper-0.1.0-"));
	cpSync(fixture, directory, { recursive: true });
	const native = join(directory, "native");
	const output = join(directory, "lib", "keeper", "build", platform);
	mkdirSync(output, { recursive: true });
	const compile = (name: string, sources: readonly string[], flags: readonly string[]) => {
		const paths = sources.map((source) => join(native, source));
		execFileSync(process.env.CC || "cc", ["-std=gnu11", "-O1", "-o", join(output, name), ...paths, ...flags]);
	};
	const sources = readdirSync(native).filter((name) => name.endsWith(".c"));
	const isProgram = (name: string) => PROGRAMS.includes(name.replace(/\.c$/, ""));
	compile(
		"hawser.node",
		sources.filter((name) => !isProgram(name)),
		["-shared", "-fPIC", "-fvisibility=hidden", "-I", headers, "-lpthread"],
	);
	for (const name of PROGRAMS) compile(name, [`${name}.c`], ["-static"]);
	return { program: join(directory, "lib", "keeper", "main.js"), directory };
}
