/** What an agent gets where a program reads a secret: a person is asked at an address, and the call goes on. */

import { randomUUID } from "node:crypto";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { connect as connectNative } from "../../../src/client/index.ts";
import { createMcpFront } from "../../../src/fronts/mcp/front.ts";
import { principalWith, startTestServer, type TestServer, TOKEN } from "../native/test-server.ts";
import { connectOverHttp, eras, type McpClient, newer, told } from "./mcp-client.ts";

const SECRET = "hunter-two";
/** Asks once, and says how long the answer was. */
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

/** A client of the newer era that shows addresses to its person, who does with them what is said here. */
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
	it("has its client show the address, and is told what came of it, once and without the secret", async () => {
		const shown: Elicited[] = [];
		const client = await connectShowing(async (elicited) => {
			shown.push(elicited);
			await person().give(elicited.url.split("/").at(-1) ?? "", SECRET);
			return "accept";
		});
		const text = await told(client, "start", { command, name: "elicited" });
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

	it("is told that the person would not, and nobody is asked any more", async () => {
		const client = await connectShowing(async () => "decline");
		const text = await told(client, "start", { command, name: "declined" });
		expect(text).toMatch(/^\[waiting for a secret · bash · "Password:" · the person would not enter it · /);
		expect((await person().list()).filter(({ session }) => session.name === "declined")).toEqual([]);
	});

	it.each(eras)(
		"is told the address where its client of %s shows none, and read waits until it was given",
		async (era) => {
			const client = await connectOverHttp({ url: server.url, token: TOKEN }, era);
			onTestFinished(() => client.close());
			const name = `told-${era}`;
			const asked = await told(client, "start", { command, name });
			const [, id = ""] =
				new RegExp(`a person can enter it: hawser secret ${name}, or at http:\\S+/secret/([0-9a-f]{12}) ·`).exec(
					asked,
				) ?? [];
			expect(await person().list()).toContainEqual(expect.objectContaining({ id, prompt: "Password:" }));
			const reading = told(client, "read", { session: name, until: { input: true } });
			await person().give(id, SECRET);
			expect(await reading).toMatch(/^\[waiting for a line · cat /);
		},
	);

	it("asks nobody for it if it may not type there, or has nothing to do with secrets", async () => {
		const before = await person().list();
		const session = await server.create({ argv: ["bash", "-c", command] });
		for (const token of ["viewer", "without-secrets"]) {
			const client = await connectOverHttp({ url: server.url, token }, "2026-07-28");
			onTestFinished(() => client.close());
			const text = await told(client, "read", { session: session.id, until: { input: true } });
			expect(text).toContain(`a person can enter it: hawser secret ${session.id} ·`);
		}
		expect(await person().list()).toEqual(before);
	});
});
