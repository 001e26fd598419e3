import { spawnSync } from "node:child_process";
import {
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	rmSync,
	statSync,
	symlinkSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const script = `
	import { compile } from ${JSON.stringify(join(root, "scripts/typescript.js"))};
	compile({ project: "tsconfig.json", root: "src", sources: ["src"], output: "dist", executables: ["main.js"] });
`;

let folder: string;
beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), "hawser-compile-"));
	symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
	mkdirSync(join(folder, "src/part"), { recursive: true });
	const compilerOptions = {
		module: "NodeNext",
		target: "ES2023",
		rootDir: "src",
		outDir: "dist",
		declaration: true,
		types: [],
	};
	write("tsconfig.json", JSON.stringify({ compilerOptions, include: ["src"] }));
	write("src/main.ts", "#!/usr/bin/env node\nexport const main: number = 1;\n");
	write("src/part/old.ts", "export const old: number = 1;\n");
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(path: string, text: string): void {
	writeFileSync(join(folder, path), text);
}

/** Compiles, and returns the printed messages; none if there was nothing to do. */
function compile(): { said: string; code: number | null } {
	const args = ["--input-type=module", "--eval", script];
	const { stderr, status } = spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" });
	return { said: stderr, code: status };
}

it("sources are compiled once, and again only after a change", () => {
	expect(compile().said).toContain("compiling");
	expect(statSync(join(folder, "dist/main.js")).mode & 0o111).toBe(0o111);
	expect(compile()).toEqual({ said: "", code: 0 });
	// Newer but unchanged: nothing to do. Changed but older: something to do.
	utimesSync(join(folder, "src/main.ts"), new Date(), new Date());
	expect(compile().said).toBe("");
	write("src/main.ts", "export const main: number = 2;\n");
	utimesSync(join(folder, "src/main.ts"), new Date(0), new Date(0));
	expect(compile().said).toContain("compiling");
	rmSync(join(folder, "dist/part/old.js"));
	expect(compile().said).toContain("compiling");
	expect(existsSync(join(folder, "dist/part/old.js"))).toBe(true);
});

it("compiling removes the output of a deleted source", () => {
	compile();
	rmSync(join(folder, "src/part/old.ts"));
	write("src/part/new.ts", "export const young: number = 1;\n");
	expect(compile().code).toBe(0);
	expect(readdirSync(join(folder, "dist/part")).sort()).toEqual(["new.d.ts", "new.js"]);
});

it("a failed compilation is repeated", () => {
	write("src/main.ts", 'export const main: number = "x";\n');
	expect(compile().code).not.toBe(0);
	expect(compile().said).toContain("compiling");
});
