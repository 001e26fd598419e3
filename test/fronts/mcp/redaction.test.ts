import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Installation } from "../../cli/hawser.ts";
import { temporaryDirectory } from "../../helpers/temporary.ts";
import { connectOverHttp, type McpClient, placeOf, told } from "./mcp-client.ts";

/** Put together here, so that nobody takes this file for a leak. */
const SECRET = `ghp_${"a1B2".repeat(9)}`;
const MARK = "[redacted: github token]";

let hawser: Installation;
let client: McpClient;
beforeAll(async () => {
	hawser = await Installation.create();
	client = await connectOverHttp(await placeOf(hawser.stateDir), "2026-07-28");
});
afterAll(async () => {
	await client.close();
	await hawser.remove();
});

it("an agent sees a mark in output, screen, question, commands and lists, and people see what is there", async () => {
	const session = "tokens";
	const file = join(await temporaryDirectory(), "token");
	await writeFile(file, SECRET);
	expect(await told(client, "run", { session, command: `echo "it is $(cat ${file})."` })).toContain(`it is ${MARK}.\n`);
	const asked = await told(client, "run", { session, command: `read -p "replace $(cat ${file})? " x # ${SECRET}` });
	expect(asked).toMatch(/^\[waiting for a line/);
	const seen = [
		asked,
		await told(client, "read", { session, what: "screen" }),
		await told(client, "read", { session, what: "output" }),
		await told(client, "sessions", {}),
		await told(client, "send", { session, keys: ["Enter"] }),
		await told(client, "read", { session, what: "commands" }),
	];
	for (const text of seen.slice(0, 4)) expect(text).toContain(MARK);
	expect(seen.at(-1)).toContain(MARK);
	expect(seen.join("\n")).not.toContain(SECRET.slice(0, 12));
	expect((await hawser.run(["logs", session])).stdout).toContain(`it is ${SECRET}.`);
	const text = (await hawser.run(["logs", "--text", "--redact", session])).stdout;
	expect(text).toContain(`it is ${MARK}.`);
	expect((await hawser.run(["logs", "--text", session])).stdout).toContain(SECRET);
});

it("an agent sees nothing of a secret that goes over the end of a row", async () => {
	const session = "wrapped";
	const file = join(await temporaryDirectory(), "token");
	await writeFile(file, SECRET);
	// 20 columns of the row are left for it.
	await told(client, "run", { session, command: `printf '%099d %s\\n' 0 "$(cat ${file})"` });
	// So has a program that has the screen to itself.
	const script = `printf '\\033[?1049h%099d %s' 0 "$(cat ${file})"; exec cat`;
	await told(client, "start", { argv: ["/bin/sh", "-c", script], name: "full" });
	const uri = (await client.listResources()).resources.find(({ name }) => name === `${session}: screen`)?.uri ?? "";
	for (const seen of [
		await told(client, "read", { session, what: "screen" }),
		await told(client, "read", { session: "full", what: "output" }),
		JSON.stringify((await client.readResource({ uri })).contents),
	]) {
		expect(seen).toContain(`0 ${MARK}`);
		expect(seen).not.toContain(SECRET.slice(-12));
	}
});

it("an agent that reads from the middle of a secret, or up to there, sees nothing of it that tells it apart", async () => {
	const session = "middle";
	await told(client, "start", {
		argv: ["/bin/sh", "-c", `printf 'see \\033[1m${SECRET}\\033[m.'; cat`],
		name: session,
	});
	const begin = 4 + "\u001b[1m".length;
	for (let cut = 5; cut < SECRET.length; cut += 5) {
		const since = begin + cut;
		const after = await told(client, "read", { session, what: "output", since });
		expect(after.split("\n")[1]).toBe(`${MARK}.`);
		const before = await told(client, "read", { session, what: "output", since: 0, limit: since });
		expect(before.split("\n")[1]).toBe(`see ${MARK}`);
	}
});

it("an answer is within its budget however many marks are in it, and says how many lines it leaves out", async () => {
	const session = "budget";
	const marks = "a://b:c@ ".repeat(12);
	for (let index = 0; index < 30; index++) await told(client, "run", { session, command: `echo '${marks}'` });
	for (const [what, max] of [
		["commands", 9600],
		["commands", 1000],
		["screen", 1000],
	] as const) {
		const text = await told(client, "read", { session, what, max });
		expect(Buffer.byteLength(text)).toBeLessThanOrEqual(max);
		expect(text).toContain("a://b:[redacted: password]@");
		expect(text).toMatch(/\n\[… \d+ more lines, with a larger max\]$/);
	}
});
