import { afterAll, beforeAll, expect, it } from "vitest";
import { connect } from "../../src/client/index.ts";
import { startTestServer, type TestServer, TOKEN } from "../support/native-server.ts";

let server: TestServer;
beforeAll(async () => {
	server = await startTestServer();
});
afterAll(async () => {
	await server.close();
	expect(server.problems).toEqual([]);
});

it("detachAll ends all attachments of a session for good, and no others", async () => {
	const { sessions } = connect({ url: server.url, token: TOKEN });
	const [crowded, other] = [await sessions.create({ argv: ["cat"] }), await sessions.create({ argv: ["cat"] })];
	const attachments = [crowded.attach(), crowded.attach({ role: "viewer" }), other.attach()];
	for (const each of attachments) expect((await each.next()).value).toMatchObject({ state: "connected" });
	expect(await crowded.attached()).toEqual([1, 2].map(() => ({ name: expect.any(String), since: expect.any(Number) })));
	const [first, second, third] = attachments.map((each) => each.next());
	const ends = Promise.allSettled([first, second]);
	expect(await crowded.detachAll()).toBe(2);
	for (const end of await ends) {
		const reason = { code: "conflict", message: expect.stringContaining("detached all clients") };
		expect(end).toMatchObject({ status: "rejected", reason });
	}
	expect(await crowded.detachAll()).toBe(0);
	expect(await crowded.attached()).toEqual([]);
	expect(await crowded.info()).toMatchObject({ state: "running", attachments: 0 });
	await other.write("x\n");
	expect((await third)?.value).toMatchObject({ kind: "output" });
	await attachments[2]?.detach();
});

it("rename sets a session's name, unless another running session has it", async () => {
	const { sessions } = connect({ url: server.url, token: TOKEN });
	const session = await sessions.create({ argv: ["cat"], name: "before" });
	await sessions.create({ argv: ["cat"], name: "taken" });
	await sessions.create({ argv: ["cat"], name: "elsewhere", workspace: "another" });
	await expect(session.rename("taken")).rejects.toMatchObject({ code: "session_exists" });
	expect(await session.rename("elsewhere")).toMatchObject({ id: session.id, name: "elsewhere" });
	expect(await session.rename("before")).toMatchObject({ name: "before" });
	expect(await session.rename(null)).toMatchObject({ name: null });
	await sessions.create({ argv: ["cat"], name: "before" });
	await expect(session.rename("bad\nname")).rejects.toMatchObject({ code: "invalid_argument" });
});
