/** After a secret was entered in a session, no route, event, webhook or file about the session contains it. */

import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { type Client, connect, type RunAnswer } from "../../../src/client/index.ts";
import { CrashingServer } from "../../support/crashing-server.ts";
import { eventually } from "../../support/reading.ts";
import { temporaryDirectory } from "../../support/temporary.ts";
import { WebhookReceiver } from "../../support/webhook-receiver.ts";

/** Contains characters that shells, JSON, URLs and shell marks encode differently. */
const SECRET = "Hunter;2 tw%6fX!end";
const STARS = "*".repeat(SECRET.length);

/** Forms in which the secret must not occur, in lower case. */
const forms: readonly string[] = [
	SECRET,
	SECRET.replaceAll(";", "\\x3b"),
	SECRET.replaceAll("%", "%25"),
	encodeURIComponent(SECRET),
	Buffer.from(SECRET).toString("base64").slice(0, -3),
	Buffer.from(SECRET).toString("hex"),
].map((form) => form.toLowerCase());

type Said = { readonly path: string; readonly text: string };

const QUERIES = [
	"",
	"?overview=1",
	"?since=0",
	"?text=1",
	...["text", "html", "ansi"].map((format) => `?format=${format}`),
	...["hunter", "end", encodeURIComponent(STARS)].map((wanted) => `?q=${wanted}`),
];

function leaks(text: string): readonly string[] {
	const lower = text.toLowerCase();
	// JSON doubles every backslash.
	return forms.filter((form) => lower.includes(form) || lower.includes(JSON.stringify(form).slice(1, -1)));
}

/** Every answer of the routes about the session, by path and query. */
async function answersOf(client: Client, get: (path: string) => Promise<Response>, id: string): Promise<Said[]> {
	const { paths } = (await client.openApi()) as { readonly paths: Record<string, Record<string, object>> };
	const said: Said[] = [];
	for (const [route, methods] of Object.entries(paths)) {
		if (!methods.get || !route.startsWith("/v1/") || route.endsWith("/attach")) continue;
		for (const query of QUERIES) {
			const path = `${route.replace(/\{\w+\}/g, id)}${query}`;
			const response = await get(path);
			if (!response.ok) await response.body?.cancel();
			// The feed never ends and is read separately.
			else if (response.headers.get("content-type")?.startsWith("text/event-stream")) await response.body?.cancel();
			else said.push({ path, text: Buffer.from(await response.arrayBuffer()).toString("latin1") });
		}
	}
	return said;
}

/** All events from now on, as text. */
function follow(client: Client): { text: string } {
	const feed = { text: "" };
	const over = new AbortController();
	onTestFinished(() => over.abort());
	void (async () => {
		for await (const item of client.events({ overview: true, signal: over.signal })) feed.text += JSON.stringify(item);
	})();
	return feed;
}

it.each(["bash", "zsh", "fish"])(
	"a secret entered in %s occurs in nothing that the server sends or stores",
	async (shell) => {
		const server = new CrashingServer(await temporaryDirectory());
		onTestFinished(() => server.killAll());
		await server.start();
		const token = await server.token();
		const client = connect({ url: server.url, token });
		const receiver = await WebhookReceiver.start();
		await client.webhooks.create({
			url: receiver.url,
			events: ["waiting", "ready", "failed", "exited", "closed"],
		});
		const feed = follow(client);
		const home = await temporaryDirectory();
		const place = join(home, SECRET);
		await mkdir(place);
		const env = { HOME: home, ZDOTDIR: home, XDG_CONFIG_HOME: home, HISTFILE: "/dev/null" };
		const session = await client.sessions.create({ argv: [shell], cwd: home, env, name: "shell" });
		await eventually("a prompt", async () => (await session.inspect()).state === "prompt");
		// fish has its own line editor.
		const read = shell === "fish" ? "bash -c 'IFS= read -rs S; printf %s \"$S\" >s'; set S (cat s)" : "IFS= read -rs S";
		await session.write(`${read}\r`);
		await eventually("a question for the secret", async () => (await session.inspect()).kind === "secret");
		await session.secret(SECRET);
		await eventually("a prompt", async () => (await session.inspect()).state === "prompt");

		const quoted = `'${SECRET}'`;
		const answers: RunAnswer[] = [];
		for (const command of [
			`echo ${quoted}`,
			`cd ${quoted}; pwd; cd ..`,
			`cd ${quoted}`,
			'printf "%s" "$S" | base64; printf "%s" "$S" | od -An -v -tx1 | tr -d " \\n"; echo',
			`printf '\\033]2;%s\\007' "$S"`,
			`echo "$S" | grep --color=always tw%6f`,
			`: ${"x".repeat(770)} ${quoted}`,
			`: ${"x".repeat(985)} ${quoted}`,
		]) {
			answers.push(await session.exec(command));
		}
		await session.write(`bash -c 'printf "%s? " "$1"; read answer' bash "$S"\r`);
		await eventually("the last question", async () => (await session.inspect()).lastLine.trimEnd().endsWith("?"));
		await eventually("events", () => feed.text.includes(`${STARS}?`) && feed.text.includes('"type":"command"'));
		const headers = { authorization: `Bearer ${token}` };
		const said = await answersOf(client, (path) => fetch(`${server.url}${path}`, { headers }), session.id);

		expect(answers.map(({ status, exitCode }) => [status, exitCode])).toEqual(answers.map(() => ["ended", 0]));
		expect(leaks(JSON.stringify(answers))).toEqual([]);
		expect(leaks(feed.text)).toEqual([]);
		for (const { path, text } of said) expect({ path, leaks: leaks(text) }).toEqual({ path, leaks: [] });
		for (const route of [
			"state",
			"output",
			"recording",
			"activity",
			"screen",
			"scrollback",
			"search?q=end",
			"commands",
		])
			expect(said.map(({ path }) => path)).toContain(`/v1/sessions/${session.id}/${route}`);
		for (const route of ["/v1/sessions?overview=1", "/v1/audit"]) expect(said.map(({ path }) => path)).toContain(route);
		const commands = said.find(({ path }) => path.endsWith("/commands"))?.text ?? "";
		expect(commands).toContain(`echo '${STARS}'`);
		// Not even the part of it that remains where a command's text is cut.
		expect(commands.toLowerCase()).not.toContain("hunter");
		const asked = await receiver.until("the question", ({ notice }) => JSON.stringify(notice).includes(`${STARS}?`));
		expect(asked.notice.session?.id).toBe(session.id);
		expect(leaks(JSON.stringify(receiver.received))).toEqual([]);
		await session.write("yes\r");
		await eventually("a prompt", async () => (await session.inspect()).state === "prompt");
		await session.write("exit\r");
		await eventually("the end", async () => (await session.inspect()).state === "ended");
		await server.stop();
		for (const entry of await readdir(server.stateDir, { withFileTypes: true, recursive: true })) {
			if (!entry.isFile()) continue;
			const text = await readFile(join(entry.parentPath, entry.name), "latin1");
			expect({ file: entry.name, leaks: leaks(text) }).toEqual({ file: entry.name, leaks: [] });
		}
	},
);
