/** `/code` and `/v1/isolated`, of which only a small part is supported. */

import { expect, test } from "vitest";
import { startExecd } from "./support/execd-server.ts";

test("/code without a language is a shell command", async () => {
	const server = await startExecd();
	for (const context of [undefined, null, {}, { language: "" }]) {
		const text = await (await server.post("/code", { code: "echo $((6*7)); exit 3", context })).text();
		const events = text.split("\n\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as { type: string }]));
		expect(events.filter(({ type }) => type !== "ping")).toMatchObject([
			{ type: "init" },
			{ type: "stdout", text: "42" },
			{ type: "error", error: { evalue: "3" } },
		]);
	}
	for (const body of [{}, { code: "" }, { code: "x", context: "python" }, { code: 1 }])
		expect((await server.post("/code", body)).status).toBe(400);
});

test("an unsupported route reports that in the format that clients show", async () => {
	const server = await startExecd();
	const asked: [method: string, path: string, body?: object][] = [
		["POST", "/code", { code: "1+1", context: { language: "python" } }],
		["POST", "/code/context", { language: "python" }],
		["GET", "/code/contexts"],
		["DELETE", "/code/contexts/x"],
		["POST", "/v1/isolated/session", {}],
		["GET", "/v1/isolated/session/x/files/info?path=/"],
	];
	for (const [method, path, body] of asked) {
		const response = await server.request(path, { method, ...(body ? { body: JSON.stringify(body) } : {}) });
		expect([path, response.status, await response.json()]).toMatchObject([path, 501, { code: "NOT_SUPPORTED" }]);
	}
	const capabilities = await server.request("/v1/isolated/capabilities");
	expect(await capabilities.json()).toMatchObject({ available: false });
	expect(server.problems).toEqual([]);
});
