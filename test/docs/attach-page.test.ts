/** docs/protocol/attach.md describes the WebSocket as it is. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { decodeClientFrame, decodeServerFrame } from "../../src/api/frames.ts";
import { closeCodes } from "../../src/api/socket.ts";
import { fatalCloseCodes } from "../../src/client/attach/final-errors.ts";
import { start } from "../support/server.ts";
import { temporaryDirectory } from "../support/temporary.ts";

const page = readFileSync(new URL("../../docs/protocol/attach.md", import.meta.url), "utf8");

it("the close codes after which clients do not reconnect are those of the SDK", () => {
	const rows = [...page.matchAll(/^\| (\d{4}) \|.*\| (no|yes[^|]*) \|$/gm)];
	const final = rows.filter(([, , answer]) => answer === "no").map(([, code]) => Number(code));
	expect(final.toSorted()).toEqual([closeCodes.done, ...Object.keys(fatalCloseCodes).map(Number)].toSorted());
	const [, listed = ""] = /if \(\[([\d, ]+)\]\.includes\(code\)\)/.exec(page) ?? [];
	expect(listed.split(", ").map(Number).toSorted()).toEqual(final.toSorted());
});

it("the frames of the transcript have the described content", () => {
	const [, transcript = ""] = /```text\n(.*?)```/s.exec(page) ?? [];
	const frames = [...transcript.matchAll(/^([<>]) ((?:[0-9a-f]{2,} )*[0-9a-f]{2,}) {2,}(.*)$/gm)];
	const read = frames.map(([, who, hex = "", words]) => {
		const bytes = Buffer.from(hex.replaceAll(" ", ""), "hex");
		return [words, who === ">" ? decodeClientFrame(bytes) : decodeServerFrame(bytes)];
	});
	const hi = expect.objectContaining({ 0: 0x68, 1: 0x69, 2: 0x0a });
	expect(read).toEqual([
		['input at position 0: "hi\\n"', { kind: "input", position: 0, bytes: hi }],
		["receipt: 3 accepted, 0 written", { kind: "receipt", next: 3, written: 0 }],
		["receipt: 3 accepted, 3 written", { kind: "receipt", next: 3, written: 3 }],
		['output at offset 0: "hi\\n"', { kind: "output", stream: "stdout", offset: 0, bytes: hi }],
		["consumed up to 3", { kind: "consumed", offset: 3 }],
	]);
});

it("the smallest client reads and writes a session to its end", async () => {
	const [, code = ""] = /```js\n(\/\/ node client\.js.*?)```/s.exec(page) ?? [];
	const folder = await temporaryDirectory();
	await mkdir(join(folder, "node_modules"));
	await symlink(fileURLToPath(new URL("../../node_modules/ws", import.meta.url)), join(folder, "node_modules/ws"));
	await writeFile(join(folder, "client.mjs"), code);
	const server = await start();
	const { body } = await server.post("/v1/sessions", {
		command: "read line; echo got $line; head -c 1000000 /dev/zero; exit 7",
		mode: "pipe",
		durable: false,
	});
	const args = [join(folder, "client.mjs"), server.url.replace("http", "ws"), server.adminToken, String(body.id)];
	const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
	onTestFinished(() => void child.kill());
	const output: Buffer[] = [];
	child.stdout.on("data", (chunk: Buffer) => output.push(chunk));
	child.stdin.write("this\n");
	const [exitCode] = await once(child, "close");
	expect(exitCode).toBe(7);
	expect(Buffer.concat(output).length).toBe("got this\n".length + 1_000_000);
	expect(Buffer.concat(output).subarray(0, 9).toString()).toBe("got this\n");
});
