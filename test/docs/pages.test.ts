/** The documents are short enough to be read, and name only files that exist. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const pages = [
	...readdirSync(root).filter((name) => name.endsWith(".md")),
	...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
		.filter((name) => name.endsWith(".md"))
		.map((name) => `docs/${name}`),
];
const text = (page: string) => readFileSync(join(root, page), "utf8");

const MAX_WORDS = 3000;
const maxWordsOf: Readonly<Record<string, number>> = {
	"README.md": 900,
	"ARCHITECTURE.md": 1500,
	"docs/benchmarks.md": 1500,
	"docs/security.md": 1500,
};

it.each(pages)("%s has no more words than a page may have", (page) => {
	expect(wordsOf(text(page))).toBeLessThanOrEqual(maxWordsOf[page] ?? MAX_WORDS);
});

it("the README's first screen has the commands that start and test Hawser", () => {
	const firstScreen = text("README.md").split("\n").slice(0, 20);
	expect(firstScreen.filter((line) => line.startsWith("npm start ") || line.startsWith("npm test "))).toHaveLength(2);
});

it("every source file and folder that a page names exists", () => {
	const missing = pages.flatMap((page) =>
		pathsOf(text(page))
			.filter((path) => !existsSync(join(root, path)) && !existsSync(join(root, "src", path)))
			.map((path) => `${page}: ${path}`),
	);
	expect(missing).toEqual([]);
});

/** Without code, and without the bars of tables. */
function wordsOf(page: string): number {
	return page
		.replace(/^```.*?^```/gms, "")
		.split(/\s+/)
		.filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}

/** Folders and source files between backticks that begin with a folder of the source. */
function pathsOf(page: string): string[] {
	const folders = [...readdirSync(join(root, "src")), "src", "native", "scripts", "shell", "test", "web", "examples"];
	return [...page.replace(/^```.*?^```/gms, "").matchAll(/`((?:[\w-]+\/)+(?:[\w.-]+\.(?:ts|js|c|h|bash))?)`/g)]
		.map(([, path = ""]) => path)
		.filter((path) => folders.includes(path.split("/")[0] ?? ""));
}
