import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Answer, call } from "../../support/calling.ts";
import { TestHawser } from "../../support/hawser-command.ts";
import { callTool, callToolText, connectOverHttp, eras, type Place, placeOf } from "../../support/mcp-client.ts";
import { eventually } from "../../support/reading.ts";

let hawser: TestHawser;
let place: Place;
beforeAll(async () => {
	hawser = await TestHawser.create();
	place = await placeOf(hawser.stateDir);
});
afterAll(() => hawser.remove());

const usualHeaders = () => ({
	authorization: `Bearer ${place.token}`,
	"content-type": "application/json",
	accept: "application/json, text/event-stream",
});

/** How a message of the older era is answered. A raw request, because it can set Host. */
function statusFor(headers: Record<string, string>): Promise<number | undefined> {
	return new Promise((resolve, reject) => {
		const options = { method: "POST", headers: { ...usualHeaders(), ...headers } };
		const sent = request(`${place.url}/mcp`, options, (answer) => {
			answer.resume();
			answer.on("end", () => resolve(answer.statusCode));
		});
		sent.on("error", reject);
		sent.end(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }));
	});
}

const ask = (method: string, path: string, body?: object): Promise<Answer> =>
	call({ url: place.url, adminToken: place.token }, method, path, body);

async function tokenWith(...scopes: string[]): Promise<{ token: string; id: string }> {
	const { body } = await ask("POST", "/v1/tokens", { scopes });
	return { token: String(body.token), id: String(body.id) };
}

describe("/mcp", () => {
	it("/mcp accepts every caller with a token and refuses pages of other origins", async () => {
		expect(await statusFor({})).toBe(200);
		expect(await statusFor({ authorization: "" })).toBe(401);
		expect(await statusFor({ authorization: "Bearer wrong" })).toBe(401);
		expect(await statusFor({ origin: "https://evil.example" })).toBe(403);
		expect(await statusFor({ host: "evil.example" })).toBe(403);
		expect(await statusFor({ "content-type": "text/plain" })).toBe(415);
	});

	it("/mcp offers no stream and no session to delete", async () => {
		for (const method of ["GET", "DELETE"]) {
			const headers = { authorization: `Bearer ${place.token}`, accept: "text/event-stream" };
			expect((await fetch(`${place.url}/mcp`, { method, headers })).status).toBe(405);
		}
	});

	it.each(eras)("a token has exactly its rights over %s", async (era) => {
		const admin = await connectOverHttp(place, era);
		const session = `seen-${era.slice(0, 4)}`;
		await callToolText(admin, "start", { command: "echo hello; read x", name: session });
		const viewer = await connectOverHttp({ ...place, ...(await tokenWith("workspace:default:read")) }, era);
		expect(await callToolText(viewer, "read", { session, what: "output" })).toMatch(/\nhello\n/);
		const refused = { text: expect.stringMatching(/^\[permission_denied\] this token may not/), isError: true };
		expect(await callTool(viewer, "send", { session, text: "x" })).toMatchObject(refused);
		expect(await callTool(viewer, "stop", { session })).toMatchObject(refused);
		expect(await callTool(viewer, "run", { command: "true" })).toMatchObject(refused);
		const { token } = await tokenWith("workspace:other:manage");
		const stranger = await connectOverHttp({ ...place, token }, era);
		expect(await callToolText(stranger, "sessions", {})).not.toContain(session);
		expect(await callTool(stranger, "read", { session })).toMatchObject({ isError: true });
		const own = await connectOverHttp({ ...place, token, query: "?workspace=other" }, era);
		expect(await callToolText(own, "run", { session: "theirs", command: "echo he''re" })).toContain("here");
		await eventually("the shell to read again", async () =>
			(await callToolText(stranger, "sessions", {})).includes("(theirs, in other) · at its prompt"),
		);
		await Promise.all([admin, viewer, stranger, own].map((client) => client.close()));
	});

	it("/mcp starts no command in a session of another workspace with the same shell name", async () => {
		const { token } = await tokenWith("workspace:evil:manage");
		const evil = await connectOverHttp({ ...place, token, query: "?workspace=evil" }, "2026-07-28");
		const admin = await connectOverHttp(place, "2026-07-28");
		for (const session of ["agent", "build"]) await callToolText(evil, "run", { session, command: "X=captured" });
		expect(await callToolText(admin, "run", { command: "echo it is $X." })).toContain("\nit is .\n");
		expect(await callToolText(admin, "run", { session: "build", command: "echo it is $X." })).toContain("\nit is .\n");
		await callToolText(admin, "stop", { session: "build", forget: true });
		for (const tool of ["send", "read", "stop"]) {
			expect(await callTool(admin, tool, { session: "build", ...(tool === "send" && { text: "x" }) })).toMatchObject({
				text: expect.stringMatching(/^\[session_not_found\]/),
			});
		}
		const id = await eventually("the shell to read again", async () => {
			const [, found] =
				/^(\w+) \(build, in evil\) · at its prompt/m.exec(await callToolText(admin, "sessions", {})) ?? [];
			return found;
		});
		const seen = await callToolText(admin, "run", { session: id, command: "echo it is $X." });
		expect(seen).toMatch(new RegExp(`^\\[ended · exit 0 · \\S+ s · ${id} · [^]*\\nit is captured\\.\\n`));
		await Promise.all([evil, admin].map((client) => client.close()));
	});

	it.each(eras)("a wait of %s ends with its connection, and the program continues", async (era) => {
		const session = `cut-${era.slice(0, 4)}`;
		const admin = await connectOverHttp(place, era);
		await callToolText(admin, "start", { command: "read x; echo got-$x; sleep 1000", name: session });
		const readers = async () => {
			const { body } = await ask("GET", `/v1/sessions?name=${session}`);
			return (body.sessions as { attachments: number }[])[0]?.attachments;
		};
		await eventually("its caller to stop reading", async () => (await readers()) === 0);
		const client = await connectOverHttp(place, era);
		const wanted = { session, until: { match: "never", timeout_s: 200 } };
		const waiting = client.callTool({ name: "read", arguments: wanted });
		waiting.catch(() => {});
		await eventually("a reader", async () => (await readers()) === 1);
		await client.close();
		await eventually("its removal", async () => (await readers()) === 0);
		const sent = { session, text: "on", keys: ["Enter"], until: { match: "got-on" } };
		expect(await callToolText(admin, "send", sent)).toMatch(/^\[matched/);
		await admin.close();
	});

	it("a wait ends when its token is revoked", async () => {
		const { token, id } = await tokenWith("workspace:default:manage");
		const client = await connectOverHttp({ ...place, token }, "2026-07-28");
		await callToolText(client, "start", { command: "sleep 1000", name: "revoked", wait: 0 });
		const waiting = client.callTool({ name: "read", arguments: { session: "revoked", until: { match: "never" } } });
		waiting.catch(() => {});
		await ask("DELETE", `/v1/tokens/${id}`);
		await expect(waiting).rejects.toThrow();
		await client.close();
	});
});
