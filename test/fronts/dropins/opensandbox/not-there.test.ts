import { expect, test } from "vitest";
import { startExecd } from "./support/execd-server.ts";
import { handshake } from "./support/pty-client.ts";

const ids = ["unknown", "%00", "..%2f..", "%F0%9F%90%A2", "x".repeat(90)];

/** Except interrupt, which the original answers with 500 and a sentence. */
test("a request for a missing object is a client error on every route", async () => {
	const server = await startExecd();
	const asked: [method: string, path: string, body?: object][] = ids.flatMap((id) => [
		["GET", `/pty/${id}`],
		["DELETE", `/pty/${id}`],
		["GET", `/session/${id}`],
		["DELETE", `/session/${id}`],
		["POST", `/session/${id}/run`, { command: "true" }],
		["GET", `/command/status/${id}`],
		["GET", `/command/${id}/logs`],
		["DELETE", `/session?id=${id}`],
	]);
	for (const [method, path, body] of asked) {
		const { status } = await server.request(path, { method, ...(body ? { body: JSON.stringify(body) } : {}) });
		expect([method, path, Math.floor(status / 100)]).toEqual([method, path, 4]);
	}
	for (const path of ids.flatMap((id) => [`/pty/${id}/ws`, `/pty/${id}/ws?mode=viewer`, `/ws/session/${id}`])) {
		expect([path, (await handshake(server.url, path)).status]).toEqual([path, 404]);
	}
	expect(server.problems).toEqual([]);
});

test("a directory with an impossible name is refused as a client error", async () => {
	const server = await startExecd();
	const cwd = "/tmp/a\0b";
	for (const path of ["/pty", "/session", "/command"]) {
		expect([path, (await server.post(path, { command: "true", cwd })).status]).toEqual([path, 400]);
	}
	const { session_id: id } = (await (await server.post("/session", {})).json()) as { session_id: string };
	expect((await server.post(`/session/${id}/run`, { command: "true", cwd })).status).toBe(400);
	expect(server.problems).toEqual([]);
});
