// Compiles the addon and the programs with the system's C compiler; needs neither node-gyp nor a download of headers.

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, renameSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildFolder, platform } from "./platform.js";

const folder = dirname(fileURLToPath(import.meta.url));
const { include_dir: api } = createRequire(import.meta.url)("node-api-headers");
const common = ["-std=gnu11", "-Wall", "-Wextra", "-Werror"];
const inFolder = (ending) =>
	readdirSync(folder)
		.filter((name) => name.endsWith(ending))
		.map((name) => join(folder, name));

/** Static programs: they start fast, stay small, and ignore variables such as LD_PRELOAD. */
const programs = ["minder", "confine", "report"];

/** Build products. */
export const products = [
	{
		file: "hawser.node",
		sources: inFolder(".c").filter((path) => !programs.includes(basename(path, ".c"))),
		flags: [...common, "-shared", "-fPIC", "-O2", "-fvisibility=hidden", "-I", api, "-lpthread"],
	},
	...programs.map((name) => ({
		file: name,
		sources: [join(folder, `${name}.c`)],
		flags: [...common, "-Os", "-static"],
	})),
];

/** Builds `native/build/<target>` where it is older than its sources. Returns the addon's path. */
export function buildAddon({
	target = platform,
	compiler = process.env.CC || "cc",
	options = [],
	log = () => {},
} = {}) {
	const output = buildFolder(target);
	const stale = products.filter(({ file, sources }) => !isBuilt(join(output, file), sources));
	if (stale.length > 0 && !target.startsWith("linux-")) throw new Error(`the addon is for Linux, not for ${target}`);
	mkdirSync(output, { recursive: true });
	for (const { file, sources, flags } of stale) {
		log(`compiling ${file} for ${target}`);
		compile({ compiler, sources, flags: [...flags, ...options], output: join(output, file) });
	}
	return join(output, products[0].file);
}

function isBuilt(output, sources) {
	const isNewer = (file) => statSync(output).mtimeMs > statSync(file).mtimeMs;
	return existsSync(output) && [...sources, ...inFolder(".h")].every(isNewer);
}

/** Compiles to a temporary file and renames it when it is complete. */
export function compile({ compiler, sources, flags, output }) {
	// Another process may have the old file mapped, and two builds may run at once.
	const partial = `${output}.${process.pid}`;
	const result = spawnSync(compiler, ["-o", partial, ...sources, ...flags], { encoding: "utf8" });
	if (result.error?.code === "ENOENT")
		throw new Error(
			`no C compiler: "${compiler}" was not found in PATH; install one (Debian: apt-get install gcc libc6-dev; Alpine: apk add gcc musl-dev linux-headers)`,
		);
	if (result.error) throw result.error;
	if (result.status !== 0) throw new Error(`the addon does not compile:\n${result.stderr}`);
	renameSync(partial, output);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	try {
		process.stdout.write(`${buildAddon({ log: (line) => process.stdout.write(`${line}\n`) })}\n`);
	} catch (error) {
		process.stderr.write(`${error.message}\n`);
		process.exitCode = 1;
	}
}
