/** Builds the web UI if its sources have changed, and removes stale output. */

import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { brotliCompressSync, gzipSync, constants as zlib } from "node:zlib";
import { say } from "./run.js";
import { filesIn, hashOf } from "./sources.js";

const OUTPUT = "dist/web";
/** Next to the output, because all files in the output are served. */
const STAMP = "dist/.hawser-web-built";
/** The page includes the SDK under its public name. */
const SOURCES = ["web", "src/client", "src/api", "src/words", "scripts/web.js", "package-lock.json"];

export async function buildWeb() {
	const hash = hashOf(SOURCES.flatMap(filesIn));
	const isComplete = existsSync(join(OUTPUT, "index.html"));
	if (isComplete && existsSync(STAMP) && readFileSync(STAMP, "utf8") === hash) return;

	say(`building web to ${OUTPUT}`);
	// Built next to the old files and moved over them, the page last: a running server never serves a mixture.
	const fresh = `dist/.hawser-fresh-web-${process.pid}`;
	try {
		await bundle(resolve(fresh));
		compress(fresh);
		const names = filesIn(fresh).map((file) => relative(fresh, file));
		const isPage = (name) => name === "index.html";
		rmSync(STAMP, { force: true });
		for (const name of [...names.filter((name) => !isPage(name)), ...names.filter(isPage)]) {
			mkdirSync(dirname(join(OUTPUT, name)), { recursive: true });
			renameSync(join(fresh, name), join(OUTPUT, name));
		}
		for (const file of filesIn(OUTPUT)) {
			if (!names.includes(relative(OUTPUT, file))) rmSync(file, { force: true });
		}
		writeFileSync(STAMP, hash);
	} finally {
		rmSync(fresh, { recursive: true, force: true });
	}
}

async function bundle(outDir) {
	// Imported late, since the set-up installs it.
	const { build } = await import("vite");
	await build({
		configFile: false,
		root: "web",
		// Relative, because the server may run below a path; it inserts the number of levels into the page.
		base: "./",
		logLevel: "warn",
		resolve: { alias: { "hawser/client": resolve("src/client/index.ts") } },
		build: {
			outDir,
			emptyOutDir: true,
			target: "es2022",
			// The page's policy refuses data: URLs.
			assetsInlineLimit: 0,
			modulePreload: { polyfill: false },
			reportCompressedSize: false,
			rolldownOptions: {
				input: { main: "web/index.html", worker: "web/service-worker.ts" },
				// Loaded only in Node, where the SDK asks for it.
				external: ["ws"],
				// The worker's URL must not change, and its folder is its scope.
				output: { entryFileNames: ({ name }) => (name === "worker" ? "worker.js" : "assets/[name]-[hash].js") },
			},
		},
	});
}

/** Writes a `.br` and a `.gz` next to compressible files, so that the server does not compress anything. */
function compress(folder) {
	for (const file of filesIn(folder).filter((file) => /\.(js|css|svg|webmanifest)$/.test(file))) {
		const content = readFileSync(file);
		const params = { [zlib.BROTLI_PARAM_QUALITY]: zlib.BROTLI_MAX_QUALITY };
		writeFileSync(`${file}.br`, brotliCompressSync(content, { params }));
		writeFileSync(`${file}.gz`, gzipSync(content, { level: zlib.Z_BEST_COMPRESSION }));
	}
}
