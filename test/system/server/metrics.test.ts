import { expect, it } from "vitest";
import { start } from "../../support/server.ts";

it("the operator's metrics include keepers and journals, and other callers get no metrics", async () => {
	const server = await start();
	const page = await (await server.request("/metrics")).text();
	for (const name of ["keepers_started_total", "keepers_lost_total", "keepers_spare", "journal_bytes"]) {
		expect(page).toMatch(new RegExp(`^hawser_${name} 0$`, "m"));
	}
	const token = await server.token("workspace:default:manage");
	const refused = await server.request("/metrics", { headers: { authorization: `Bearer ${token}` } });
	expect(refused.status).toBe(403);
});

it("a token with the scope metrics reads metrics and no session, and creates no token with more rights", async () => {
	const server = await start();
	const id = await server.session();
	const headers = { authorization: `Bearer ${await server.token("metrics")}` };
	const get = async (path: string) => (await server.request(path, { headers })).status;
	expect(await get("/metrics")).toBe(200);
	expect(await get(`/v1/sessions/${id}`)).toBe(404);
	expect(await (await server.request("/v1/sessions", { headers })).json()).toEqual({ sessions: [], next: null });
	const token = headers.authorization.slice("Bearer ".length);
	expect(await server.post("/v1/tokens", { scopes: ["workspace:default:read"] }, token)).toMatchObject({ status: 403 });
	expect(await server.post("/v1/tokens", { scopes: ["metrics"] }, token)).toMatchObject({ status: 201 });
});
