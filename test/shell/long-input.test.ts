/** Long input that always arrives: into shells with hooks, and typed into programs with line editors. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { type Client, connect } from "../../src/client/index.ts";
import { startTestServer, TOKEN } from "../support/native-server.ts";
import { temporaryDirectory } from "../support/temporary.ts";
import { editors, longText, WRITTEN, writing } from "./support/long-texts.ts";
import { startPostgres } from "./support/postgres.ts";
import { startShell } from "./support/shells.ts";

const MEGABYTE = 1_000_000;
/** The benchmark types a megabyte, which takes seconds. */
const TYPED_BYTES = 100_000;
const PATIENCE_MS = 30_000;

let client: Client;
beforeAll(async () => {
	const server = await startTestServer();
	client = connect({ url: server.url, token: TOKEN });
	return () => server.close();
});

test.each(["bash", "zsh"] as const)(
	"long input that always arrives: a heredoc of 1 MB is the same file in %s",
	async (name) => {
		const shell = await startShell(name, { isDecorated: true });
		const text = longText(MEGABYTE);
		const answer = await shell.run(`cat >file <<'END'\n${text}END`, PATIENCE_MS);
		expect(answer).toMatchObject({ status: "ended", exitCode: 0 });
		expect(readFileSync(join(shell.home, "file"), "utf8")).toBe(text);
	},
);

test.each(editors)("long input that always arrives: 100 KB that are typed are the same file in %s", async (editor) => {
	const home = await temporaryDirectory();
	const { argv, before, after } = writing[editor];
	const session = await client.sessions.create({ argv: [...argv], cwd: home, env: { HOME: home } });
	await session.send({ until: { input: true } });
	const text = longText(TYPED_BYTES);
	const request = { text: before + text + after, until: { match: WRITTEN } };
	expect(await session.send(request, { timeoutMs: PATIENCE_MS })).toMatchObject({ cause: "match" });
	expect(readFileSync(join(home, "file"), "utf8")).toBe(text);
});

test("long input that always arrives: 100 KB that are typed into psql come to its server", async () => {
	const { port, inserted } = await startPostgres();
	const home = await temporaryDirectory();
	const session = await client.sessions.create({
		argv: ["psql", "-X", "-h", "127.0.0.1", "-p", `${port}`, "-U", "me", "-d", "here"],
		cwd: home,
		env: { HOME: home, PGSSLMODE: "disable", PGGSSENCMODE: "disable" },
	});
	await session.send({ until: { input: true } });
	const text = longText(TYPED_BYTES);
	const request = { text: `insert '${text}';\n`, until: { match: /^kept 1$/ } };
	expect(await session.send(request, { timeoutMs: PATIENCE_MS })).toMatchObject({ cause: "match" });
	expect(inserted).toEqual([text]);
});

test("long input that always arrives: a line that the terminal would cut is refused, and nothing of it is typed", async () => {
	const session = await client.sessions.create({
		command: 'while read line; do echo "got $(printf %s $line | wc -c)"; done',
	});
	await expect(session.send({ text: "x".repeat(4_096), keys: ["Enter"] })).rejects.toMatchObject({
		code: "invalid_argument",
		message: expect.stringContaining("nothing was typed"),
	});
	const whole = await session.send({ text: "x".repeat(4_095), keys: ["Enter"], until: { match: /^got \d+$/ } });
	expect(whole).toMatchObject({ cause: "match", text: expect.stringContaining("got 4095") });
	expect(whole.text).not.toContain("got 4096");
});
