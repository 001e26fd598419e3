/** Builds the web UI when, and only when, what it is made from has changed, and leaves nothing stale behind. */

import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { brotliCompressSync, gzipSync, constants as zlib } from "node:zlib";
import { say } from "./run.js";
import { filesIn, hashOf } from "./sources.js";

const OUTPUT = "dist/web";
/** Beside the output, which is served as it is. */
const STAMP = "dist/.hawser-web-built";
/** The SDK, under its public name, is part of the page. */
const SOURCES = ["web", "src/client", "src/protocol", "scripts/web.js", "package-lock.json"];

export async function buildWeb() {
	const hash = hashOf(SOURCES.flatMap(filesIn));
	const isComplete = existsSync(join(OUTPUT, "index.html"));
	if (isComplete && existsSync(STAMP) && readFileSync(STAMP, "utf8") === hash) return;

	say(`building web to ${OUTPUT}`);
	// Beside the old results, and moved over them file by file, the page last: a server that runs meanwhile answers with a whole one.
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
	// Here, because it is installed by then.
	const { build } = await import("vite");
	await build({
		configFile: false,
		root: "web",
		// Relative: the server may be below a path, and says in the page how far up it is.
		base: "./",
		logLevel: "warn",
		resolve: { alias: { "hawser/client": resolve("src/client/index.ts") } },
		build: {
			outDir,
			emptyOutDir: true,
			target: "es2022",
			// A data: address is refused by the page's policy.
			assetsInlineLimit: 0,
			modulePreload: { polyfill: false },
			reportCompressedSize: false,
			rolldownOptions: {
				input: { main: "web/index.html", worker: "web/worker.ts" },
				// In Node alone, where the SDK asks for it.
				external: ["ws"],
				// The worker's address must not change, and its folder is what it may act for.
				output: { entryFileNames: ({ name }) => (name === "worker" ? "worker.js" : "assets/[name]-[hash].js") },
			},
		},
	});
}

/** Leaves a `.br` and a `.gz` beside what is worth it, so that the server compresses nothing. */
function compress(folder) {
	for (const file of filesIn(folder).filter((file) => /\.(js|css|svg|webmanifest)$/.test(file))) {
		const content = readFileSync(file);
		const params = { [zlib.BROTLI_PARAM_QUALITY]: zlib.BROTLI_MAX_QUALITY };
		writeFileSync(`${file}.br`, brotliCompressSync(content, { params }));
		writeFileSync(`${file}.gz`, gzipSync(content, { level: zlib.Z_BEST_COMPRESSION }));
	}
}
