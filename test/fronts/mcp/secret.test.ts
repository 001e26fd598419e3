/** An agent whose program reads a secret: a person is asked at a URL, and the call continues. */

import { randomUUID } from "node:crypto";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { connect as connectNative } from "../../../src/client/index.ts";
import { createMcpFront } from "../../../src/fronts/mcp/front.ts";
import { callToolText, connectOverHttp, eras, type McpClient, newer } from "../../support/mcp-client.ts";
import { principalWith, startTestServer, type TestServer, TOKEN } from "../../support/native-server.ts";

const SECRET = "hunter-two";
/** Asks once and prints the length of the answer. */
const command = `exec bash -c 'read -r -s -p "Password: " it; echo "got \${#it}"; exec cat'`;

let server: TestServer;
beforeAll(async () => {
	const options = { newUuid: randomUUID, shell: "/bin/sh", version: "0" };
	server = await startTestServer({
		principals: {
			viewer: principalWith(["read"]),
			"without-secrets": principalWith(["read", "operate"], { secrets: "none" }),
		},
		fronts: (parts) => [createMcpFront({ ...parts, secretUrl: (id) => `${server.url}/secret/${id}`, ...options })],
	});
});
afterAll(() => server.close());

const person = () => connectNative({ url: server.url, token: TOKEN }).secretRequests;

type Elicited = { readonly mode: unknown; readonly url: string; readonly message: string };

/** A client of the newer era that shows URLs to its user, who reacts as given here. */
async function connectShowing(act: (elicited: Elicited) => Promise<"accept" | "decline">): Promise<McpClient> {
	const client = new Client(
		{ name: "test", version: "1" },
		{ versionNegotiation: { mode: { pin: "2026-07-28" } }, capabilities: { elicitation: { url: {} } } },
	);
	client.setRequestHandler("elicitation/create", async ({ params }) => ({ action: await act(params as Elicited) }));
	const requestInit = { headers: { authorization: `Bearer ${TOKEN}` } };
	await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { requestInit }));
	onTestFinished(() => client.close());
	return newer(client);
}

describe("an agent whose program reads a secret", () => {
	it("the agent's client shows the URL, and the agent gets the outcome once and without the secret", async () => {
		const shown: Elicited[] = [];
		const client = await connectShowing(async (elicited) => {
			shown.push(elicited);
			await person().give(elicited.url.split("/").at(-1) ?? "", SECRET);
			return "accept";
		});
		const text = await callToolText(client, "start", { command, name: "elicited" });
		expect(shown).toEqual([
			{
				mode: "url",
				url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/secret\/[0-9a-f]{12}$/),
				message: expect.stringContaining("bash in elicited asks: Password:"),
			},
		]);
		expect(text).toMatch(/\nPassword: got 10$/m);
		expect(text).not.toContain(SECRET);
		expect(server.sessions.list().filter(({ spec }) => spec.name === "elicited")).toHaveLength(1);
	});

	it("the agent learns that the user declined, and the request is withdrawn", async () => {
		const client = await connectShowing(async () => "decline");
		const text = await callToolText(client, "start", { command, name: "declined" });
		expect(text).toMatch(/^\[waiting for a secret · bash · "Password:" · the person declined to enter it · /);
		expect((await person().list()).filter(({ session }) => session.name === "declined")).toEqual([]);
	});

	it.each(eras)(
		"the agent gets the URL if its client of %s can't show one, and read waits for the answer",
		async (era) => {
			const client = await connectOverHttp({ url: server.url, token: TOKEN }, era);
			onTestFinished(() => client.close());
			const name = `told-${era}`;
			const asked = await callToolText(client, "start", { command, name });
			const [, id = ""] =
				new RegExp(`a person can enter it: hawser secret ${name}, or at http:\\S+/secret/([0-9a-f]{12}) ·`).exec(
					asked,
				) ?? [];
			expect(await person().list()).toContainEqual(expect.objectContaining({ id, prompt: "Password:" }));
			const reading = callToolText(client, "read", { session: name, until: { input: true } });
			await person().give(id, SECRET);
			expect(await reading).toMatch(/^\[waiting for a line · cat /);
		},
	);

	it("an agent that may not type or has no secret right creates no request", async () => {
		const before = await person().list();
		const session = await server.create({ argv: ["bash", "-c", command] });
		for (const token of ["viewer", "without-secrets"]) {
			const client = await connectOverHttp({ url: server.url, token }, "2026-07-28");
			onTestFinished(() => client.close());
			const text = await callToolText(client, "read", { session: session.id, until: { input: true } });
			expect(text).toContain(`a person can enter it: hawser secret ${session.id} ·`);
		}
		expect(await person().list()).toEqual(before);
	});
});
