import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { TestHawser } from "../../support/hawser-command.ts";
import { callToolText, connectOverHttp, type McpClient, placeOf } from "../../support/mcp-client.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

/** Put together at run time, so that scanners do not report this file as a leak. */
const SECRET = `ghp_${"a1B2".repeat(9)}`;
const MARK = "[redacted: github token]";

let hawser: TestHawser;
let client: McpClient;
beforeAll(async () => {
	hawser = await TestHawser.create();
	client = await connectOverHttp(await placeOf(hawser.stateDir), "2026-07-28");
});
afterAll(async () => {
	await client.close();
	await hawser.remove();
});

it("agents see a mark instead of a secret in output, screen, question, commands and lists; people see the secret", async () => {
	const session = "tokens";
	const file = join(await temporaryDirectory(), "token");
	await writeFile(file, SECRET);
	expect(await callToolText(client, "run", { session, command: `echo "it is $(cat ${file})."` })).toContain(
		`it is ${MARK}.\n`,
	);
	const asked = await callToolText(client, "run", {
		session,
		command: `read -p "replace $(cat ${file})? " x # ${SECRET}`,
	});
	expect(asked).toMatch(/^\[waiting for a line/);
	const seen = [
		asked,
		await callToolText(client, "read", { session, what: "screen" }),
		await callToolText(client, "read", { session, what: "output" }),
		await callToolText(client, "sessions", {}),
		await callToolText(client, "send", { session, keys: ["Enter"] }),
		await callToolText(client, "read", { session, what: "commands" }),
	];
	for (const text of seen.slice(0, 4)) expect(text).toContain(MARK);
	expect(seen.at(-1)).toContain(MARK);
	expect(seen.join("\n")).not.toContain(SECRET.slice(0, 12));
	expect((await hawser.run(["logs", session])).stdout).toContain(`it is ${SECRET}.`);
	const text = (await hawser.run(["logs", "--text", "--redact", session])).stdout;
	expect(text).toContain(`it is ${MARK}.`);
	expect((await hawser.run(["logs", "--text", session])).stdout).toContain(SECRET);
});

it("agents see nothing of a secret that wraps around the end of a row", async () => {
	const session = "wrapped";
	const file = join(await temporaryDirectory(), "token");
	await writeFile(file, SECRET);
	// 20 columns remain in the row.
	await callToolText(client, "run", { session, command: `printf '%099d %s\\n' 0 "$(cat ${file})"` });
	// The same for a program on the alternate screen.
	const script = `printf '\\033[?1049h%099d %s' 0 "$(cat ${file})"; exec cat`;
	await callToolText(client, "start", { argv: ["/bin/sh", "-c", script], name: "full" });
	const uri = (await client.listResources()).resources.find(({ name }) => name === `${session}: screen`)?.uri ?? "";
	for (const seen of [
		await callToolText(client, "read", { session, what: "screen" }),
		await callToolText(client, "read", { session: "full", what: "output" }),
		JSON.stringify((await client.readResource({ uri })).contents),
	]) {
		expect(seen).toContain(`0 ${MARK}`);
		expect(seen).not.toContain(SECRET.slice(-12));
	}
});

it("a read that starts or ends inside a secret reveals nothing of it to an agent", async () => {
	const session = "middle";
	await callToolText(client, "start", {
		argv: ["/bin/sh", "-c", `printf 'see \\033[1m${SECRET}\\033[m.'; cat`],
		name: session,
	});
	const begin = 4 + "\u001b[1m".length;
	for (let cut = 5; cut < SECRET.length; cut += 5) {
		const since = begin + cut;
		const after = await callToolText(client, "read", { session, what: "output", since });
		expect(after.split("\n")[1]).toBe(`${MARK}.`);
		const before = await callToolText(client, "read", { session, what: "output", since: 0, limit: since });
		expect(before.split("\n")[1]).toBe(`see ${MARK}`);
	}
});

it("a masked answer stays within its budget, and states how many lines it omits", async () => {
	const session = "budget";
	const marks = "a://b:c@ ".repeat(12);
	for (let index = 0; index < 30; index++) await callToolText(client, "run", { session, command: `echo '${marks}'` });
	for (const [what, max] of [
		["commands", 9600],
		["commands", 1000],
		["screen", 1000],
	] as const) {
		const text = await callToolText(client, "read", { session, what, max });
		expect(Buffer.byteLength(text)).toBeLessThanOrEqual(max);
		expect(text).toContain("a://b:[redacted: password]@");
		expect(text).toMatch(/\n\[… \d+ more lines, with a larger max\]$/);
	}
});
