import { describe, expect, it, onTestFinished } from "vitest";
import { type Started, start } from "../../support/server.ts";
import { TestSocket } from "../../support/socket-client.ts";

/** The core waits 10 s for a stalled reader. A reader it does not wait for stays below that, also on a busy machine. */
const WITHOUT_A_WAIT_MS = 9_000;

/** A program that prints more than its session retains, after it gets a line of input. */
async function flood(server: Started): Promise<string> {
	const { status, body } = await server.post("/v1/sessions", {
		command: "read go; head -c 6000000 /dev/zero",
		mode: "pipe",
		durable: false,
		retain: { memoryBytes: 65_536 },
	});
	expect(status).toBe(201);
	return String(body.id);
}

const go = (server: Started, id: string) =>
	server.request(`/v1/sessions/${id}/input`, {
		method: "POST",
		headers: { authorization: `Bearer ${server.adminToken}`, "content-type": "application/octet-stream" },
		body: "go\n",
	});

async function stateOf(server: Started, id: string): Promise<unknown> {
	return ((await (await server.request(`/v1/sessions/${id}`)).json()) as { state: string }).state;
}

describe("a token with view rights", () => {
	it.each(["viewer", "writer"] as const)(
		"a reader with view rights never stalls the program, also as a lossless %s that stops reading",
		async (role) => {
			const server = await start();
			const id = await flood(server);
			const token = await server.token(`session:${id}:view`);
			const stalled = await TestSocket.open(server.url, id, { role, flow: "lossless" }, { token, acks: false });
			onTestFinished(() => stalled.cut());
			await go(server, id);
			await expect.poll(() => stateOf(server, id), { timeout: WITHOUT_A_WAIT_MS }).toBe("closed");
		},
	);

	it("a reader with view rights gets everything that is retained, and gaps for the rest", async () => {
		const server = await start();
		const id = await flood(server);
		const token = await server.token(`session:${id}:view`);
		const reader = await TestSocket.open(server.url, id, { role: "viewer", flow: "lossless" }, { token });
		const headers = { authorization: `Bearer ${token}` };
		const waiting = server.request(`/v1/sessions/${id}/output?wait=5000`, { headers });
		await go(server, id);
		expect((await waiting).status).toBe(200);
		await reader.message("closed");
		const { from, to } = reader.received.reduce(
			(place, item) => {
				if ("bytes" in item && "offset" in item) return { from: place.from, to: place.to + item.bytes.byteLength };
				if ("type" in item && item.type === "gap") return { from: place.from + item.to - item.from, to: item.to };
				return place;
			},
			{ from: 0, to: 0 },
		);
		expect(to).toBe(6_000_000);
		expect(from).toBeLessThanOrEqual(to);
	});
});

it("a lossless reader with control rights stalls the program", async () => {
	const server = await start();
	const id = await flood(server);
	const token = await server.token(`session:${id}:control`);
	const stalled = await TestSocket.open(server.url, id, { role: "viewer", flow: "lossless" }, { token, acks: false });
	await go(server, id);
	// The reader gets its window, and the program is stopped soon after. Without that, all 6 MB would pass by.
	await expect.poll(() => stalled.received.filter((item) => "bytes" in item).length).toBeGreaterThan(0);
	expect(await stateOf(server, id)).toBe("running");
	stalled.cut();
	await expect.poll(() => stateOf(server, id), { timeout: WITHOUT_A_WAIT_MS }).toBe("closed");
});
