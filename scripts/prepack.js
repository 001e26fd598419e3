#!/usr/bin/env node
/**
 * `npm pack`: builds everything in the package, including addons for other platforms.
 *
 * A platform that can't be compiled for here is reported and left out; the package compiles its addon at the first start.
 */

import { platform } from "../native/platform.js";
import { has, say } from "./run.js";
import { setUp } from "./setup.js";
import { ensurePackages } from "./system.js";

/** Debian's cross compilers. Its musl has no kernel headers, so those of this machine come last. */
const compilers = [
	{
		target: "linux-x64",
		compiler: "x86_64-linux-gnu-gcc",
		packages: ["gcc-x86-64-linux-gnu", "libc6-dev-amd64-cross"],
	},
	{
		target: "linux-arm64",
		compiler: "aarch64-linux-gnu-gcc",
		packages: ["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"],
	},
	{
		target: `linux-${process.arch}-musl`,
		compiler: "musl-gcc",
		options: ["/usr/include", `/usr/include/${{ x64: "x86_64", arm64: "aarch64" }[process.arch]}-linux-gnu`].flatMap(
			(headers) => ["-idirafter", headers],
		),
		packages: ["musl-tools"],
	},
];

await setUp("build");
// Imported late: it needs headers that the set-up installs.
const { buildAddon } = await import("../native/build.js");
for (const { target, compiler, options, packages } of compilers.filter(({ target }) => target !== platform)) {
	try {
		if (!has(compiler)) ensurePackages(packages, `the compiler for ${target}`);
		buildAddon({ target, compiler, options, log: say });
	} catch (error) {
		say(`no addon for ${target} in the package, so it is compiled there at first start: ${error.message}`);
	}
}
