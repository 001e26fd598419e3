// Compiles the addon and the minder with the system's C compiler; needs neither node-gyp nor a download of headers.

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, renameSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = dirname(fileURLToPath(import.meta.url));
const api = join(folder, "..", "node_modules", "node-api-headers", "include");
const common = ["-std=gnu11", "-Wall", "-Wextra", "-Werror"];
const inFolder = (ending) =>
	readdirSync(folder)
		.filter((name) => name.endsWith(ending))
		.map((name) => join(folder, name));

/** Programs of their own, complete in themselves: so they start fast, stay small, and load nothing that a variable names. */
const programs = ["minder", "confine"];

/** What is built. */
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

/** Builds `native/build/<platform>-<arch>`, as far as it is older than its sources; returns the addon's path. */
export function buildAddon({ log = () => {} } = {}) {
	const target = join(folder, "build", `${process.platform}-${process.arch}`);
	const addon = join(target, products[0].file);
	const stale = products.filter((product) => !isBuilt(join(target, product.file), product.sources));
	if (stale.length === 0) return addon;
	if (process.platform !== "linux")
		throw new Error(
			`the addon supports only Linux, not ${process.platform}; sessions with a terminal are not available here`,
		);
	mkdirSync(target, { recursive: true });
	if (!existsSync(api)) throw new Error('the package "node-api-headers" is not installed; run "npm install" first');
	for (const { file, sources, flags } of stale) {
		log(`compiling ${file}`);
		compile({ compiler: process.env.CC || "cc", sources, flags, output: join(target, file) });
	}
	return addon;
}

function isBuilt(output, sources) {
	const isNewer = (file) => statSync(output).mtimeMs > statSync(file).mtimeMs;
	return existsSync(output) && [...sources, ...inFolder(".h")].every(isNewer);
}

/** Compiles to a file that appears only when it is complete. */
export function compile({ compiler, sources, flags, output }) {
	// A rename, because another process may have the old file mapped, and two builds may run at once.
	const partial = `${output}.${process.pid}`;
	const result = spawnSync(compiler, ["-o", partial, ...sources, ...flags], { encoding: "utf8" });
	if (result.error?.code === "ENOENT")
		throw new Error(
			`no C compiler: "${compiler}" was not found in PATH; install one (Debian: apt-get install gcc libc6-dev) and run "npm run build" again`,
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
