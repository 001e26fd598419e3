import { expect, it } from "vitest";
import { start } from "./start.ts";

it("the operator sees keepers and journals among the server's numbers, and nobody else sees any", async () => {
	const server = await start();
	const page = await (await server.request("/metrics")).text();
	for (const name of ["keepers_started_total", "keepers_lost_total", "keepers_spare", "journal_bytes"]) {
		expect(page).toMatch(new RegExp(`^hawser_${name} 0$`, "m"));
	}
	const token = await server.token("workspace:default:manage");
	const refused = await server.request("/metrics", { headers: { authorization: `Bearer ${token}` } });
	expect(refused.status).toBe(403);
});
