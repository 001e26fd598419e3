import { expect, it } from "vitest";
import { connect } from "../../src/client/index.ts";
import { runPython } from "../support/python.ts";
import { start } from "../support/server.ts";

const program = { argv: ["true"], durable: false };
/** The burst is five seconds' worth. */
const RATE = 2;
const BURST = 5 * RATE;

it("a start refused by the rate limit reports when to retry", async () => {
	const server = await start({ createRate: String(RATE) });
	const authorization = `Bearer ${server.adminToken}`;
	const ask = () =>
		fetch(`${server.url}/v1/sessions`, {
			method: "POST",
			headers: { authorization, "content-type": "application/json" },
			body: JSON.stringify(program),
		});
	const answers = await Promise.all(Array.from({ length: BURST + 5 }, ask));
	const refused = answers.find(({ status }) => status === 429);
	const { error } = ((await refused?.json()) ?? {}) as { error: Record<string, unknown> };
	expect(error).toEqual({
		code: "limit_exceeded",
		message: expect.stringMatching(/^rate limit exceeded; retry in \d+ ms$/),
		hint: expect.stringMatching(/^--create-rate of the server/),
		retryAfterMs: expect.any(Number),
		isTemporary: true,
	});
	expect(error.retryAfterMs).toBeGreaterThan(0);
	expect(error.retryAfterMs).toBeLessThanOrEqual(1000 / RATE);
	expect(refused?.headers.get("retry-after")).toBe("1");
	// Another 429 has no retry time.
	const body = JSON.stringify({ ...program, retain: { memoryBytes: 10 ** 12 } });
	const headers = { authorization, "content-type": "application/json" };
	await expect
		.poll(async () => {
			const other = await fetch(`${server.url}/v1/sessions`, { method: "POST", headers, body });
			return ((await other.json()) as { error: object }).error;
		})
		.toEqual({ code: "limit_exceeded", message: expect.stringContaining("may be at most") });
});

it("the rate limit of a workspace reports when to retry, too", async () => {
	const server = await start();
	const client = connect({ url: server.url, token: server.adminToken });
	await client.workspaces.put("slow", { roots: [], limits: { startsPerSecond: 1 } });
	const create = () => client.sessions.create({ ...program, workspace: "slow" }, { retryTimeoutMs: 0 });
	const all = await Promise.allSettled(Array.from({ length: 7 }, create));
	const refused = all.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
	expect(refused.length).toBeGreaterThan(0);
	expect(refused[0]).toMatchObject({
		code: "limit_exceeded",
		status: 429,
		isTemporary: true,
		retryAfterMs: expect.any(Number),
		hint: expect.stringContaining("limits.startsPerSecond of the workspace sets the rate"),
	});
});

it("create waits for the start rate within its retry timeout, and starts each program once", async () => {
	const server = await start({ createRate: String(RATE) });
	const client = connect({ url: server.url, token: server.adminToken });
	const wanted = BURST + 3;
	const all = await Promise.all(Array.from({ length: wanted }, () => client.sessions.create(program)));
	expect(new Set(all.map(({ id }) => id)).size).toBe(wanted);
	const burst = Array.from({ length: wanted }, () => client.sessions.create(program, { retryTimeoutMs: 0 }));
	const refused = (await Promise.allSettled(burst)).filter(({ status }) => status === "rejected");
	expect(refused.length).toBeGreaterThan(0);
	const over = new AbortController();
	const waiting = Array.from({ length: wanted }, () => client.sessions.create(program, { signal: over.signal }));
	over.abort();
	for (const one of await Promise.allSettled(waiting)) expect(one.status).toBe("rejected");
});

it("create of the Python client waits for the start rate within its retry timeout", async () => {
	const server = await start({ createRate: String(RATE) });
	const script = `
import asyncio, hawser
async def main():
    async with hawser.connect(${JSON.stringify(server.url)}, token=${JSON.stringify(server.adminToken)}) as client:
        start = lambda **how: client.create(["true"], durable=False, **how)
        made = await asyncio.gather(*(start() for _ in range(${BURST + 3})))
        print(len({session.id for session in made}))
        refused = await asyncio.gather(*(start(retry_timeout=0) for _ in range(${BURST + 3})), return_exceptions=True)
        error = next(one for one in refused if isinstance(one, hawser.HawserError))
        print(error.code, error.is_temporary, 0 < error.retry_after <= 1)
asyncio.run(main())
`;
	expect(await runPython(["-c", script])).toBe(`${BURST + 3}\nlimit_exceeded True True\n`);
});
