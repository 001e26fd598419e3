#!/usr/bin/env node
/**
 * Writes what follows from `src/api/schema`: the types and routes of the SDK and of the Python client, and
 * the field tables of `docs/protocol`.
 *
 * `node scripts/generate.js --check` writes nothing, and fails if a file is out of date.
 */

import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { fieldTables } from "./generate/markdown.js";
import { namedTypes } from "./generate/named-types.js";
import { pythonOperations, pythonTypes } from "./generate/python.js";
import { typescriptOperations, typescriptTypes } from "./generate/typescript.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const HEAD = "Generated from src/api/schema by `node scripts/generate.js`. Do not edit.";
const DOCS = "docs/protocol";

/** The paths of generated files whose content differs from `read(path)`, each with its new content. */
export async function staleFiles(read = (path) => readFileSync(join(root, path), "utf8")) {
	const { operations, messages } = await readSchema();
	const types = namedTypes(operations, messages);
	const files = {
		"src/api/types.ts": formatted("types.ts", typescriptTypes(HEAD, types, operations)),
		"src/api/operations.ts": formatted("operations.ts", typescriptOperations(HEAD, operations)),
		"clients/python/hawser/_messages.py": pythonTypes(HEAD, types),
		"clients/python/hawser/_operations.py": pythonOperations(HEAD, operations),
	};
	for (const page of readdirSync(join(root, DOCS))) {
		files[`${DOCS}/${page}`] = fieldTables(read(`${DOCS}/${page}`), types, operations);
	}
	return Object.entries(files).filter(([path, content]) => contentOf(path, read) !== content);
}

/** Bundled, because the schema is TypeScript, which Node 20 can't load. */
async function readSchema() {
	const bundle = await rolldown({ input: join(root, "src/api/schema/api.ts"), platform: "node" });
	const { output } = await bundle.generate({ format: "esm" });
	return import(`data:text/javascript,${encodeURIComponent(output[0].code)}`);
}

function formatted(name, code) {
	const biome = join(root, "node_modules/.bin/biome");
	const { stdout, stderr, status } = spawnSync(biome, ["format", `--stdin-file-path=src/api/${name}`], {
		cwd: root,
		input: code,
	});
	if (status !== 0) throw new Error(`biome can't format ${name}: ${stderr}`);
	return String(stdout);
}

function contentOf(path, read) {
	try {
		return read(path);
	} catch (error) {
		if (error.code === "ENOENT") return undefined;
		throw error;
	}
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const isCheck = process.argv.includes("--check");
	for (const [path, content] of await staleFiles()) {
		if (isCheck) {
			console.error(`${path} is out of date: run node scripts/generate.js`);
			process.exitCode = 1;
		} else {
			writeFileSync(join(root, path), content);
		}
	}
}
