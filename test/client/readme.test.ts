/** The examples in the README's section "From a program" do what they say. */

import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { CrashingServer } from "../helpers/crashing-server.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** In the order of the examples. */
const outputs = ["hello 2\n", "line 1\nline 2\nline 3\nexit code 3\n", "two\n", "42\n", "your choice?\n"];

test("every example runs against a real server and prints what it says", async () => {
	const server = new CrashingServer(await temporaryDirectory());
	onTestFinished(() => server.killAll());
	await server.start();
	const token = await server.token();
	const [preamble = "", ...examples] = await examplesOf(process.env.README ?? `${root}README.md`);
	expect(examples).toHaveLength(outputs.length);
	const printed = await Promise.all(
		examples.map((example) => run(`${preamble}\n${example}`.replace("http://127.0.0.1:7707", server.url), token)),
	);
	expect(printed).toEqual(outputs);
});

async function examplesOf(path: string): Promise<string[]> {
	const sections = (await readFile(path, "utf8")).split(/^## /m);
	const section = sections.find((text) => text.startsWith("From a program\n")) ?? "";
	return [...section.matchAll(/^```js\n(.*?)^```/gms)].map(([, code = ""]) => code);
}

/** In the package's own directory, where `hawser/client` is what was built. */
async function run(code: string, token: string): Promise<string> {
	const options = { cwd: root, env: { ...process.env, HAWSER_TOKEN: token }, timeout: 20_000 };
	const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", code], options);
	return stdout;
}
