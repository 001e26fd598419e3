import { randomBytes, randomUUID } from "node:crypto";
import { expect, it, onTestFinished } from "vitest";
import { childEnvironment } from "../../../src/backends/environment.ts";
import { createMcpFront } from "../../../src/fronts/mcp/front.ts";
import { createId, createPrepare } from "../../../src/fronts/prepare.ts";
import { eventually } from "../../helpers/reading.ts";
import { startTestServer, TOKEN } from "../native/test-server.ts";
import { connectOverHttp, type Era, eras, told } from "./mcp-client.ts";

const prepare = createPrepare({
	defaults: {
		cwd: "/tmp",
		workspace: "default",
		durable: false,
		retention: { memoryBytes: 1024 * 1024, journalBytes: 0 },
		drainMs: 500,
	},
	newId: () => createId(randomBytes),
	now: Date.now,
	environment: (request, id, base) => childEnvironment(process.env, request, id, base),
});

/** To a server without screens, whose sessions live in this process. */
async function connect(era: Era) {
	const options = { prepare, newUuid: randomUUID, shell: "/bin/sh", version: "0", progressMs: 20 };
	const server = await startTestServer({ fronts: (sessions) => [createMcpFront({ sessions, ...options })] });
	onTestFinished(() => server.close());
	const client = await connectOverHttp({ url: server.url, token: TOKEN }, era);
	onTestFinished(() => client.close());
	return { server, client };
}

it.each(eras)("tells a client of %s that a long wait goes on", async (era) => {
	const { server, client } = await connect(era);
	await told(client, "start", { command: "read x; echo got-$x; sleep 1000", name: "slow" });
	const heard: { progress: number; total?: number | undefined; message?: string | undefined }[] = [];
	const third = new Promise<void>((resolve) => {
		const onprogress = (progress: (typeof heard)[number]) => {
			if (heard.push(progress) === 3) resolve();
		};
		const args = { session: "slow", until: { match: "got-it", timeout_s: 100 } };
		const waiting = client.callTool({ name: "read", arguments: args }, { onprogress });
		onTestFinished(async () => void (await waiting.catch(() => {})));
	});
	await third;
	expect(heard[0]).toMatchObject({ total: 100, message: "slow goes on" });
	expect(heard.map(({ progress }) => progress)).toEqual(
		heard.map(({ progress }) => progress).toSorted((a, b) => a - b),
	);
	await told(client, "send", { session: "slow", text: "it", keys: ["Enter"], until: { match: "got-it" } });
	expect(server.problems).toEqual([]);
});

it("shows no screens where there are none, and says so", async () => {
	const { client } = await connect("2026-07-28");
	// A shell that reads plain lines has a prompt, too.
	expect(await told(client, "run", { command: "echo pl''ain", wait: 10 })).toMatch(/^\[ended · [\s\S]*plain/);
	await expect(told(client, "read", { session: "agent", what: "screen" })).rejects.toThrow("[unsupported]");
});

it("lists as many sessions as an answer holds, the newest", async () => {
	const { client } = await connect("2026-07-28");
	const names = Array.from({ length: 60 }, (_, index) => `${"long name ".repeat(5)}${index}`);
	for (const name of names) await told(client, "start", { command: `printf '%0110d?' 1; read x`, name, wait: 0 });
	const text = await eventually("all of them ask", async () => {
		const listed = await told(client, "sessions", {});
		return listed.split("\n").every((line) => /older|1\?"/.test(line)) ? listed : undefined;
	});
	expect(Buffer.byteLength(text)).toBeLessThanOrEqual(9600);
	const [more, ...lines] = text.split("\n");
	expect(more).toBe(`[${60 - lines.length} older ones are not listed]`);
	expect(lines.map((line) => line.split(" · ")[0])).toEqual(names.slice(-lines.length));
});
