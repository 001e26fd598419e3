import { afterAll, beforeAll, expect, it } from "vitest";
import { findSession } from "../../src/cli/find-session.ts";
import { type Client, connect } from "../../src/client/index.ts";
import { startTestServer, type TestServer, TOKEN } from "../fronts/native/test-server.ts";

let server: TestServer;
let client: Client;
beforeAll(async () => {
	server = await startTestServer();
	client = connect({ url: server.url, token: TOKEN });
});
afterAll(() => server.close());

const found = async (wanted?: string) => (await findSession(client, wanted)).id;

it("takes an id, its beginning or a name, and without any the most recent", async () => {
	await expect(found()).rejects.toMatchObject({ code: "session_not_found" });
	const { id: first } = await server.create({ argv: ["cat"], name: "one" });
	const { id: second } = await server.create({ argv: ["cat"] });
	expect(await found(first)).toBe(first);
	expect(await found("one")).toBe(first);
	expect(await found(second.slice(0, 8))).toBe(second);
	expect(await found()).toBe(second);
	await expect(found("")).rejects.toMatchObject({ code: "session_not_found" });
	await expect(found("zzzz-none")).rejects.toMatchObject({ code: "session_not_found" });
});

it("means the running one of several with a name, and asks when that does not decide", async () => {
	for (let round = 0; round < 2; round++) {
		const { id } = await server.create({ argv: ["cat"], name: "again" });
		await client.sessions.at(id).kill();
	}
	await expect(found("again")).rejects.toThrow("2 sessions named");
	const { id } = await server.create({ argv: ["cat"], name: "again" });
	expect(await found("again")).toBe(id);
});

it("looks in one workspace when it is told which, and nowhere else", async () => {
	const { id: red } = await server.create({ argv: ["cat"], name: "shell", workspace: "red" });
	const { id: blue } = await server.create({ argv: ["cat"], name: "shell", workspace: "blue" });
	await expect(found("shell")).rejects.toThrow("2 sessions named");
	expect((await findSession(client, "shell", { workspace: "red" })).id).toBe(red);
	expect((await findSession(client, undefined, { workspace: "red" })).id).toBe(red);
	await expect(findSession(client, blue, { workspace: "red" })).rejects.toMatchObject({ code: "session_not_found" });
});
