// @module-tag slow

import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { temporaryDirectory } from "../support/temporary.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

it("a file that hangs outside of its tests is reported, run once more and counted; one that hangs again has failed", async () => {
	const folder = await temporaryDirectory();
	const files = {
		"vitest.config.js": `export default { test: { execArgv: ["--report-on-signal", "--report-directory=" + process.env.HAWSER_TEST_REPORTS] } };`,
		"package.json": `{ "type": "module" }`,
		"good.test.js": `import { it } from "vitest"; it("a", () => {}); it("b", () => {});`,
		"bad.test.js": `import { it } from "vitest"; it("c", () => { throw new Error("no"); });`,
		"once.test.js": `import { mkdirSync } from "node:fs"; import { it } from "vitest";
			if (mkdirSync(${JSON.stringify(join(folder, "been/here"))}, { recursive: true })) await new Promise(() => setInterval(() => {}, 1000));
			it("d", () => {});`,
		"always.test.js": `await new Promise(() => setInterval(() => {}, 1000));`,
	};
	const { stdout, stderr } = await count(folder, files);
	expect(stderr).toMatch(/once\.test\.js: started/);
	expect(stderr).toMatch(/waits for one of these\n.*"timer"/);
	expect(stderr).toMatch(/no result: [^;]*once\.test\.js[^;]*; running again/);
	expect(stderr).toMatch(/no result again: .*always\.test\.js/);
	expect(stdout).toMatch(/counted \{"passed":3,"failed":2/);
});

it("a run that hangs after its last file is counted without another, and has failed if something failed outside of tests", async () => {
	const counted = async (body: string) => {
		const folder = await temporaryDirectory();
		const { stdout } = await count(folder, {
			"vitest.config.js": `export default { test: { globalSetup: "./hang.js", teardownTimeout: 600_000 } };`,
			"package.json": `{ "type": "module" }`,
			"hang.js": `export default () => () => new Promise(() => setInterval(() => {}, 1000));`,
			"good.test.js": `import { appendFileSync } from "node:fs"; import { it } from "vitest";
				it("a", () => { appendFileSync(${JSON.stringify(join(folder, "runs"))}, "one "); ${body} });`,
		});
		expect(await readFile(join(folder, "runs"), "utf8")).toBe("one ");
		return /counted (.*)/.exec(stdout)?.[1];
	};
	const outside =
		'return new Promise((resolve) => setTimeout(() => { setImmediate(resolve); throw new Error("late"); }));';
	expect(await Promise.all([counted(""), counted(outside)])).toEqual([
		'{"passed":1,"failed":0,"status":0}',
		'{"passed":1,"failed":0,"status":"SIGKILL"}',
	]);
});

async function count(folder: string, files: Record<string, string>): Promise<{ stdout: string; stderr: string }> {
	for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
	const program = `
		import { runTests } from ${JSON.stringify(join(root, "scripts/suite.js"))};
		console.log("counted " + JSON.stringify(await runTests(["--root=${folder}"], { quietMs: 5000 })));`;
	return promisify(execFile)(process.execPath, ["--input-type=module", "-e", program], { cwd: root });
}
