import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../support/native-server.ts";

/** Linux limits: one string of an argument or variable with its NUL, and, with 8 MiB of stack, all together. */
const STRING_BYTES = 128 * 1024;
const ALL_BYTES = 2 * 1024 * 1024;

let server: TestServer;
beforeAll(async () => {
	server = await startTestServer();
});
afterAll(() => server.close());

type Answer = { status: number; body: { id?: string; error?: { code: string; message: string } } };

async function post(body: object): Promise<Answer> {
	const response = await server.request("/v1/sessions", {
		method: "POST",
		headers: { "content-type": "application/json" },
		body: JSON.stringify({ mode: "pipe", durable: false, ...body }),
	});
	return { status: response.status, body: (await response.json()) as Answer["body"] };
}

/** The output of a program. */
async function outputOf(body: object): Promise<string> {
	const { status, body: answer } = await post(body);
	expect(answer).not.toHaveProperty("error");
	expect(status).toBe(201);
	let text = "";
	for (let since = 0; ; ) {
		const part = await server.request(`/v1/sessions/${answer.id}/output?since=${since}&wait=10000`);
		text += await part.text();
		since = Number(part.headers.get("hawser-next"));
		if (part.headers.get("hawser-state") === "closed" && since === Number(part.headers.get("hawser-end"))) return text;
	}
}

/** Strings of the largest size whose sum stays below the total limit. */
const longest = "x".repeat(STRING_BYTES - 1);
const most = Array.from({ length: ALL_BYTES / STRING_BYTES - 2 }, () => longest);

describe("a start as large as the kernel accepts", () => {
	it("a start may contain a script of 100 KiB", async () => {
		expect(await outputOf({ command: `: ${"x".repeat(100 * 1024)}; echo done` })).toBe("done\n");
	});

	it("a start may have arguments of almost 2 MiB", async () => {
		expect(await outputOf({ argv: ["sh", "-c", 'echo $# $(printf %s "$1" | wc -c)', "sh", ...most] })).toBe(
			`${most.length} ${longest.length}\n`,
		);
	});

	it("a start may have 100,000 arguments", async () => {
		const many = Array.from({ length: 100_000 }, () => "x");
		expect(await outputOf({ argv: ["sh", "-c", "echo $#", "sh", ...many] })).toBe("100000\n");
	});

	it("a start may have an environment of the same size", async () => {
		const env = Object.fromEntries(most.map((value, index) => [`V${index}`, value.slice(16)]));
		const script = `printf %s "$V0$V${most.length - 1}" | wc -c`;
		expect(await outputOf({ argv: ["sh", "-c", script], env })).toBe(`${2 * (longest.length - 16)}\n`);
		const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`N${index}`, "x"]));
		expect(await outputOf({ argv: ["sh", "-c", 'echo "$N4999"'], env: many })).toBe("x\n");
	});

	it("a start may be encoded with six characters for each byte", async () => {
		const control = "\u0001".repeat(STRING_BYTES - 1);
		const argv = ["sh", "-c", "echo $#", "sh", ...most.map(() => control)];
		expect(JSON.stringify(argv).length).toBeGreaterThan(5 * ALL_BYTES);
		expect(await outputOf({ argv })).toBe(`${most.length}\n`);
	});
});

describe("a larger start", () => {
	const tooLarge = {
		status: 422,
		body: { error: { code: "spawn_failed", message: expect.stringContaining("E2BIG") } },
	};

	it("the kernel refuses one string above its limit", async () => {
		expect(await post({ argv: ["true", `${longest}x`] })).toMatchObject(tooLarge);
		expect(await post({ command: `${longest}x` })).toMatchObject(tooLarge);
		expect(await post({ argv: ["true"], env: { V: longest } })).toMatchObject(tooLarge);
	});

	it("the kernel refuses strings above the total limit", async () => {
		expect(await post({ argv: ["true", ...most, ...most] })).toMatchObject(tooLarge);
	});

	it("a refused start leaves nothing behind", async () => {
		const before = server.sessions.list().length;
		await post({ argv: ["true", ...most, ...most] });
		expect(server.sessions.list()).toHaveLength(before);
	});
});
