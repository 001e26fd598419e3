/** Files that are generated from the API's schemas. */

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { staleFiles } from "../../scripts/generate.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string) => readFileSync(`${root}/${path}`, "utf8");

it("generated files are up to date", async () => {
	expect((await staleFiles()).map(([path]) => path)).toEqual([]);
});

it("an edited or missing generated file is stale, and so is a page with an edited table", async () => {
	const edited = (path: string) => {
		if (path === "src/api/operations.ts") throw Object.assign(new Error("missing"), { code: "ENOENT" });
		return read(path)
			.replace("readonly scopes: readonly string[]", "readonly scopes: string[]")
			.replace("| `scopes` |", "|");
	};
	const stale = new Map(await staleFiles(edited));
	expect([...stale.keys()]).toEqual(["src/api/types.ts", "src/api/operations.ts", "docs/protocol/access.md"]);
	for (const [path, content] of stale) expect(content).toBe(read(path));
});

it("a page that shows the fields of an unknown message is refused", async () => {
	const page = "<!-- fields: Nothing -->\n<!-- end -->";
	await expect(staleFiles((path) => (path.endsWith(".md") ? page : read(path)))).rejects.toThrow(
		"the documentation shows the fields of Nothing, which is no object of the API",
	);
});
