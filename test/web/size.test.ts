/** Download size of the web UI. */

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const web = fileURLToPath(new URL("../../dist/web", import.meta.url));
const assets = join(web, "assets");

/** With gzip, which every browser supports; brotli is smaller. */
function kilobytes(names: readonly string[]): number {
	return names.reduce((sum, name) => sum + statSync(join(assets, `${name}.gz`)).size, 0) / 1024;
}

it("the list needs at most 64 KB, and everything together stays below 235", () => {
	const page = readFileSync(join(web, "index.html"), "utf8");
	const first = [...page.matchAll(/assets\/([\w.-]+\.(?:js|css))/g)].map(([, name = ""]) => name);
	expect(first.length).toBeGreaterThan(1);
	expect(kilobytes(first)).toBeLessThan(64);
	expect(kilobytes(readdirSync(assets).filter((name) => /\.(js|css)$/.test(name)))).toBeLessThan(235);
});
