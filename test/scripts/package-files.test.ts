/** The files of the package, as npm lists them. Links in its documents must lead to files in it. */

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The paths in the package, without building anything. */
function packed(): string[] {
	const flags = ["--dry-run", "--json", "--ignore-scripts"];
	const text = execFileSync("npm", ["pack", ...flags], {
		cwd: root,
		encoding: "utf8",
		stdio: ["ignore", "pipe", "ignore"],
	});
	const [{ files }] = JSON.parse(text) as [{ files: { path: string }[] }];
	return files.map(({ path }) => path);
}

/** Targets of a document's links in this repository. */
function linksOf(document: string): string[] {
	const text = readFileSync(join(root, document), "utf8").replaceAll(/```.*?```/gs, "");
	const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link.split("#", 1)[0] ?? "");
	return links
		.filter((link) => link !== "" && !/^[a-z]+:/.test(link))
		.map((link) => normalize(join(dirname(document), link)).replace(/\/$/, ""));
}

it("the package has all files that its documents link to, and no caches", () => {
	const files = packed();
	const isThere = (path: string) => files.some((file) => file === path || file.startsWith(`${path}/`));
	const documents = files.filter((file) => file.endsWith(".md"));
	expect(documents).toContain("README.md");
	const missing = documents.flatMap((document) =>
		linksOf(document).flatMap((link) => (isThere(link) ? [] : [`${document} → ${link}`])),
	);
	expect(missing).toEqual([]);
	expect(files.filter((file) => file.includes("__pycache__"))).toEqual([]);
});
