/** The test files of the repository, with the tags in their head (`// @module-tag slow`). */

import { readdirSync, readFileSync } from "node:fs";

const folder = new URL("../test/", import.meta.url);

/** Tests that `npm test -- --quick` leaves out besides slow ones: the whole product, and protocols other than our own. */
const LEFT_OUT = /^test\/(system|chaos|bench|scripts)\/|^test\/fronts\/(?!native\/)/;

export function testFiles() {
	return readdirSync(folder, { recursive: true, encoding: "utf8" })
		.filter((path) => path.endsWith(".test.ts"))
		.map((path) => {
			const text = readFileSync(new URL(path, folder), "utf8");
			return { file: `test/${path}`, tags: [...text.matchAll(/^\/\/ @module-tag (\w+)$/gm)].map(([, tag]) => tag) };
		});
}

export function quickFiles() {
	return testFiles()
		.filter(({ file, tags }) => !tags.includes("slow") && !LEFT_OUT.test(file))
		.map(({ file }) => file);
}
