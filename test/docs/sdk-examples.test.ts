/** The examples of docs/sdk.md and the README print what their comments say. */

import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { CrashingServer } from "../support/crashing-server.ts";
import { temporaryDirectory } from "../support/temporary.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** Output of the examples of docs/sdk.md, in their order. */
const outputs = ["hello 2\n", "line 1\nline 2\nline 3\nexit code 3\n", "two\n", "42\n", "your choice?\n"];

test("each example of docs/sdk.md runs against a real server and prints what its comment says", async () => {
	const { url, token } = await startServer();
	const [preamble = "", ...examples] = await examplesOf("docs/sdk.md");
	expect(examples).toHaveLength(outputs.length);
	const printed = await Promise.all(
		examples.map((example) =>
			run(`${preamble}\n${example}`.replace("http://127.0.0.1:7707", url), { HAWSER_TOKEN: token }),
		),
	);
	expect(printed).toEqual(outputs);
});

test("the README's example finds the server of the environment and prints what its comment says", async () => {
	const { url, token } = await startServer();
	const examples = await examplesOf("README.md");
	expect(examples).toHaveLength(1);
	expect(await run(examples[0] ?? "", { HAWSER_URL: url, HAWSER_TOKEN: token })).toBe("hello 2\n");
});

async function startServer(): Promise<{ url: string; token: string }> {
	const server = new CrashingServer(await temporaryDirectory());
	onTestFinished(() => server.killAll());
	await server.start();
	return { url: server.url, token: await server.token() };
}

async function examplesOf(path: string): Promise<string[]> {
	const page = await readFile(new URL(path, `file://${root}`), "utf8");
	return [...page.matchAll(/^```js\n(.*?)^```/gms)].map(([, code = ""]) => code);
}

/** In the package's own directory, where `hawser/client` is what was built. */
async function run(code: string, more: NodeJS.ProcessEnv): Promise<string> {
	const options = { cwd: root, env: { ...process.env, ...more }, timeout: 20_000 };
	const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", code], options);
	return stdout;
}
