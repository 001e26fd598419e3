import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readAll, startTestServer, type TestServer } from "../../support/native-server.ts";

let server: TestServer;
beforeAll(async () => {
	server = await startTestServer();
});
afterAll(async () => {
	await server.close();
	expect(server.problems).toEqual([]);
});

async function post(path: string, body?: object, key?: string): Promise<{ status: number; [key: string]: unknown }> {
	const headers = {
		...(body === undefined ? {} : { "content-type": "application/json" }),
		...(key === undefined ? {} : { "idempotency-key": key }),
	};
	const init = { method: "POST", headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
	const response = await server.request(`/v1/sessions/${path}`, init);
	return { status: response.status, ...((await response.json()) as object) };
}

/** Reads until the output matches. */
async function seen(id: string, pattern: RegExp): Promise<string> {
	for (let text = ""; ; ) {
		const response = await server.request(`/v1/sessions/${id}/output?since=${text.length}&wait=10000`);
		text += Buffer.from(await response.arrayBuffer()).toString("latin1");
		if (pattern.test(text)) return text;
		if (response.headers.get("hawser-state") === "closed") throw new Error(`ended with ${JSON.stringify(text)}`);
	}
}

describe("keys, sizes, signals and the end of input", () => {
	it("keys are pressed by name and typed as text", async () => {
		const { id } = await server.create({ command: "stty raw -echo; printf READY; exec cat -v" });
		await seen(id, /READY/);
		const sent = await post(`${id}/keys`, { keys: ["text:ls -l", "Enter", "Up", "C-c", "ctrl+d", "é"] });
		expect(sent).toMatchObject({ status: 200, next: 5 + 1 + 3 + 1 + 1 + 2 });
		expect(await seen(id, /M-\)/)).toBe("READYls -l^M^[[A^C^DM-CM-)");
	});

	it("a resize takes effect once per idempotency key", async () => {
		const { id } = await server.create({
			command: "trap 'stty size; exit' TERM; printf READY; while :; do sleep 0.02; done",
		});
		await seen(id, /READY/);
		expect(await post(`${id}/resize`, { cols: 132, rows: 43 }, "s:0")).toMatchObject({ status: 200, next: 1 });
		expect(await post(`${id}/resize`, { cols: 1, rows: 1 }, "s:0")).toMatchObject({ status: 200, next: 1 });
		expect(await post(`${id}/signal`, { signal: "term" }, "s:1")).toMatchObject({ status: 200, next: 2 });
		expect((await readAll(server, id)).bytes.toString()).toContain("43 132");
	});

	it("a signal ends a program that reads, and one that does not", async () => {
		const { id } = await server.create({ argv: ["cat"], mode: "pipe" });
		expect(await post(`${id}/eof`)).toMatchObject({ status: 200, next: 1 });
		expect((await readAll(server, id)).headers.get("hawser-exit")).toBe('{"code":0,"signal":null}');
		const { id: deaf } = await server.create({ argv: ["sleep", "60"], mode: "pipe" });
		await post(`${deaf}/signal`, { signal: "SIGKILL", urgent: true });
		expect((await readAll(server, deaf)).headers.get("hawser-exit")).toBe('{"code":null,"signal":"SIGKILL"}');
		expect(await post(`${deaf}/eof`)).toMatchObject({ status: 409, error: { code: "session_closed" } });
	});

	it.each([
		["keys", {}, "keys"],
		["keys", { keys: [] }, "keys"],
		["keys", { keys: ["Entr"] }, "keys.0"],
		["keys", { keys: ["Enter", 3] }, "keys.1"],
		["keys", { keys: ["Enter", "C-é"] }, "keys.1"],
		["resize", { cols: 80 }, "rows"],
		["resize", { cols: 80, rows: -1 }, "rows"],
		["resize", { cols: 80.5, rows: 1 }, "cols"],
		["resize", { cols: 65536, rows: 1 }, "cols"],
		["signal", {}, "signal"],
		["signal", { signal: "BANG" }, "signal"],
		["signal", { signal: "../../x" }, "signal"],
		["signal", { signal: "INT", urgent: "yes" }, "urgent"],
	])("input actions refuse: %s %j", async (what, body, names) => {
		const { id } = await server.create({ argv: ["cat"] });
		const answer = await post(`${id}/${what}`, body);
		expect(answer).toMatchObject({ status: 400, error: { code: "invalid_argument" } });
		expect((answer as unknown as { error: { message: string } }).error.message).toContain(names);
		await server.sessions.remove(id);
	});

	it("a session on pipes has no size", async () => {
		const { id } = await server.create({ argv: ["cat"], mode: "pipe" });
		expect(await post(`${id}/resize`, { cols: 1, rows: 1 })).toMatchObject({ status: 501 });
	});
});
