/** Every link between the documents leads to a file and a heading that exist. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** The files below a folder whose names end in one of these. */
const filesOf = (folder: string, ...endings: string[]) =>
	readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
		.map((name) => join(folder, name))
		.filter((path) => endings.some((ending) => path.endsWith(ending)) && !path.includes("node_modules"));

const pages = [
	...readdirSync(root).filter((name) => name.endsWith(".md")),
	...["docs", "examples", "clients"].flatMap((folder) => filesOf(folder, ".md")),
];
const text = (path: string) => readFileSync(join(root, path), "utf8");

it("every link between the documents leads to a file and a heading that exist", () => {
	expect(pages).toContain("README.md");
	const broken = pages.flatMap((page) =>
		linksOf(text(page))
			.filter((link) => !leadsSomewhere(page, link))
			.map((link) => `${page}: ${link}`),
	);
	expect(broken).toEqual([]);
});

it("every page that the source or a script names exists", () => {
	const sources = ["src", "web", "scripts", "shell", "clients", "native"].flatMap((folder) =>
		filesOf(folder, ".ts", ".js", ".py", ".c", ".h"),
	);
	const missing = sources.flatMap((path) =>
		[...text(path).matchAll(/\bdocs\/[\w/-]+\.md\b/g)]
			.filter(([named]) => !existsSync(join(root, named)))
			.map(([named]) => `${path}: ${named}`),
	);
	expect(missing).toEqual([]);
});

function leadsSomewhere(page: string, link: string): boolean {
	const [path = "", anchor] = link.split("#");
	const target = path === "" ? page : normalize(join(dirname(page), path));
	if (!existsSync(join(root, target))) return false;
	return anchor === undefined || anchorsOf(text(target)).has(anchor);
}

/** Links to files; those to other sites are left out. */
function linksOf(page: string): string[] {
	const links = [...prose(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link);
	return links.filter((link) => !/^[a-z]+:/.test(link));
}

/** The anchors that GitHub makes of headings. */
function anchorsOf(page: string): Set<string> {
	const seen = new Map<string, number>();
	const anchors = [...prose(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => {
		const words = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
		const anchor = words.replace(/[^\p{L}\p{N}_\- ]/gu, "").replaceAll(" ", "-");
		const earlier = seen.get(anchor) ?? 0;
		seen.set(anchor, earlier + 1);
		return earlier === 0 ? anchor : `${anchor}-${earlier}`;
	});
	return new Set(anchors);
}

function prose(page: string): string {
	return page.replace(/^```.*?^```$/gms, "");
}
