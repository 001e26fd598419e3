import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { principalWith, startTestServer, type TestServer } from "../../support/native-server.ts";

let server: TestServer;
const revocation = new AbortController();
beforeAll(async () => {
	const going = principalWith(["read", "operate"], { name: "going", revoked: revocation.signal });
	server = await startTestServer({ principals: { other: principalWith(["read", "operate"]), going } });
});
afterAll(() => server.close());

type Answer = { readonly status: number; readonly fence?: number };

async function call(
	method: string,
	path: string,
	body?: object,
	headers: Record<string, string> = {},
): Promise<Answer> {
	const response = await server.request(path, {
		method,
		headers: { ...(body ? { "content-type": "application/json" } : {}), ...headers },
		...(body ? { body: JSON.stringify(body) } : {}),
	});
	return { status: response.status, ...((await response.json()) as object) };
}

const other = { authorization: "Bearer other" };
const keys = { keys: ["text:x"] };

describe("control over HTTP", () => {
	it("exclusive control prevents others from writing, and is shown by its fence", async () => {
		const { id } = await server.create({ argv: ["cat"] });
		const lease = await call("POST", `/v1/sessions/${id}/lease`, {});
		expect(lease).toEqual({ status: 200, fence: expect.any(Number), holder: "admin", exclusive: true });
		const refused = { status: 409, error: { code: "not_writable" } };
		expect(await call("POST", `/v1/sessions/${id}/keys`, keys)).toMatchObject(refused);
		expect(await call("POST", `/v1/sessions/${id}/lease`, {}, other)).toMatchObject(refused);
		const fence = { "hawser-fence": String(lease.fence) };
		expect(await call("POST", `/v1/sessions/${id}/keys`, keys, fence)).toMatchObject({ status: 200 });
		// All readers see the number, but it does not authorize them.
		expect(await call("POST", `/v1/sessions/${id}/keys`, keys, { ...fence, ...other })).toMatchObject(refused);
		const kept = await call("DELETE", `/v1/sessions/${id}/lease?fence=${lease.fence}`, undefined, other);
		expect(kept).toMatchObject({ holder: "admin" });
		expect(await call("POST", `/v1/sessions/${id}/resize`, { cols: 9, rows: 9 }, fence)).toMatchObject({ status: 200 });
		const octets = { ...fence, "content-type": "application/octet-stream" };
		const typed = await server.request(`/v1/sessions/${id}/input`, { method: "POST", headers: octets, body: "y" });
		expect(typed.status).toBe(200);
		// Another client takes control, and writes under the old fence are refused.
		expect(await call("POST", `/v1/sessions/${id}/lease`, { force: true }, other)).toMatchObject({ status: 200 });
		expect(await call("POST", `/v1/sessions/${id}/keys`, keys, fence)).toMatchObject(refused);
		expect(await call("POST", `/v1/sessions/${id}/lease`, { fence: lease.fence })).toMatchObject(refused);
	});

	it("control is released by its holder or when it times out", async () => {
		const { id } = await server.create({ argv: ["cat"] });
		const { fence } = await call("POST", `/v1/sessions/${id}/lease`, {});
		expect(await call("DELETE", `/v1/sessions/${id}/lease?fence=${fence}`)).toMatchObject({ holder: null });
		expect(await call("POST", `/v1/sessions/${id}/keys`, keys)).toMatchObject({ status: 200 });
		await call("POST", `/v1/sessions/${id}/lease`);
		expect(await call("DELETE", `/v1/sessions/${id}/lease`, undefined, other)).toMatchObject({ holder: "admin" });
		expect(await call("DELETE", `/v1/sessions/${id}/lease`)).toMatchObject({ holder: null });
		const short = await call("POST", `/v1/sessions/${id}/lease`, { ttlMs: 3_600_000 });
		const renewed = await call("POST", `/v1/sessions/${id}/lease`, { fence: short.fence, ttlMs: 1_000 });
		expect(renewed).toEqual(short);
		await expect
			.poll(async () => (await server.sessions.get(id)?.info())?.lease)
			.toMatchObject({ holder: null, exclusive: false });
	});

	it("control ends with the credential that took it, and later control of another client does not", async () => {
		const [mine, theirs] = [await server.create({ argv: ["cat"] }), await server.create({ argv: ["cat"] })];
		const going = { authorization: "Bearer going" };
		for (const { id } of [mine, theirs]) {
			expect(await call("POST", `/v1/sessions/${id}/lease`, { ttlMs: 3_600_000 }, going)).toMatchObject({
				status: 200,
			});
		}
		await call("POST", `/v1/sessions/${theirs.id}/lease`, { force: true }, other);
		revocation.abort();
		const leaseOf = async (id: string) => (await server.sessions.get(id)?.info())?.lease;
		await expect.poll(() => leaseOf(mine.id)).toMatchObject({ holder: null, exclusive: false });
		expect(await call("POST", `/v1/sessions/${mine.id}/keys`, keys, other)).toMatchObject({ status: 200 });
		expect(await leaseOf(theirs.id)).toMatchObject({ holder: "read+operate", exclusive: true });
	});

	it("control requires the right to operate and valid numbers", async () => {
		const { id } = await server.create({ argv: ["cat"] });
		const bad = { status: 400, error: { code: "invalid_argument" } };
		expect(await call("POST", `/v1/sessions/${id}/lease`, { ttlMs: 999 })).toMatchObject(bad);
		expect(await call("DELETE", `/v1/sessions/${id}/lease?fence=x`)).toMatchObject(bad);
		expect(await call("POST", `/v1/sessions/${id}/keys`, keys, { "hawser-fence": "x" })).toMatchObject(bad);
	});
});
