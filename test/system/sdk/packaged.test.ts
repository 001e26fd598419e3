/** The SDK as published: with an older compiler and in a bundle. Taken from `dist`. */

import { spawn } from "node:child_process";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { expect, it } from "vitest";
import { result } from "../../support/hawser-command.ts";
import { start } from "../../support/server.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const oldCompiler = join(root, "node_modules/typescript-5.6/bin/tsc");

/** A project with this package installed. */
async function project(files: Readonly<Record<string, string>>): Promise<string> {
	const folder = await temporaryDirectory();
	await mkdir(join(folder, "node_modules"));
	await symlink(root, join(folder, "node_modules/hawser"));
	for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
	return folder;
}

it.each([
	["in a page", { lib: ["ES2022", "DOM", "DOM.Iterable"], module: "ESNext", moduleResolution: "bundler" }],
	["in Node", { lib: ["ES2022", "DOM"], module: "NodeNext", moduleResolution: "NodeNext" }],
])("the SDK's types compile with TypeScript 5.6 %s, without skipLibCheck", async (_where, options) => {
	const folder = await project({
		"package.json": '{ "type": "module" }',
		"tsconfig.json": JSON.stringify({
			compilerOptions: { ...options, target: "ES2022", strict: true, noEmit: true, skipLibCheck: false, types: [] },
			include: ["use.ts"],
		}),
		"use.ts": `
			import { connect, HawserError } from "hawser/client";
			const { sessions } = connect({ url: "http://127.0.0.1:7707", WebSocket });
			export async function use(): Promise<Uint8Array | undefined> {
				const session = await sessions.create({ argv: ["true"] }).catch((error: unknown) => {
					throw error instanceof HawserError ? error : new Error();
				});
				for await (const event of session.attach()) if (event.kind === "output") return event.bytes;
				return undefined;
			}`,
	});
	const { code, stdout } = await result(spawn(process.execPath, [oldCompiler, "-p", folder]));
	expect(stdout).toBe("");
	expect(code).toBe(0);
});

it("the SDK in one bundled file attaches in Node without other packages", async () => {
	const server = await start();
	const id = await server.session();
	const folder = await project({
		"main.js": `
			import { connect } from "hawser/client";
			const [url, token, id] = process.argv.slice(2);
			const attachment = connect({ url, token }).sessions.at(id).attach();
			await attachment.write("bundled\\n");
			let text = "";
			for await (const event of attachment) {
				if (event.kind !== "output") continue;
				text += new TextDecoder().decode(event.bytes);
				if (text.includes("bundled")) break;
			}
			process.stdout.write(text);`,
	});
	const bundle = await rolldown({ input: join(folder, "main.js"), platform: "node" });
	const elsewhere = await temporaryDirectory();
	await bundle.write({ file: join(elsewhere, "bundle.mjs"), format: "esm", codeSplitting: false });
	// Node 20 has no WebSocket of its own, so the bundle must include one.
	const child = spawn(process.execPath, [join(elsewhere, "bundle.mjs"), server.url, server.adminToken, id], {
		cwd: elsewhere,
	});
	expect(await result(child)).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining("bundled") });
});

it("a browser bundle of the SDK contains no module of Node", async () => {
	const folder = await project({ "main.js": 'export { connect } from "hawser/client";' });
	const bundle = await rolldown({ input: join(folder, "main.js"), platform: "browser" });
	const { output } = await bundle.generate({ format: "esm" });
	const code = output.map((part) => ("code" in part ? part.code : "")).join("");
	expect(code).not.toMatch(/node:|require\(|from "(?:net|tls|http|stream)"/);
	expect(Buffer.byteLength(code)).toBeLessThan(136_000);
});
