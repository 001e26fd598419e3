import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ask, pathOf, type Started, start } from "../../support/server.ts";

/** Looks like a Hawser token and occurs nowhere else. */
const CANARY = `hwt_0123456789ab_${"canary".repeat(7)}X`;

/** Every way to send the server a secret, intended or by mistake. */
const ways: Readonly<Record<string, { query?: string; headers?: Record<string, string>; isOperator?: true }>> = {
	bearer: { headers: { authorization: `Bearer ${CANARY}` } },
	"basic credential": { headers: { authorization: `Basic ${CANARY}` } },
	cookie: { headers: { cookie: `hawser_session=${CANARY}`, "hawser-key": CANARY, origin: "OWN" } },
	ticket: { headers: { "sec-websocket-protocol": `hawser.v1, ticket.${CANARY}` } },
	"first subprotocol": { headers: { "sec-websocket-protocol": `ticket.${CANARY}, hawser.v1` } },
	"ticket of the operator": { headers: { "sec-websocket-protocol": `ticket.${CANARY}, hawser.v1` }, isOperator: true },
	query: { query: `?token=${CANARY}&ticket=${CANARY}&code=${CANARY}` },
	"query of the operator": { query: `?token=${CANARY}&ticket=${CANARY}&code=${CANARY}`, isOperator: true },
};

it.each(Object.entries(ways))("a secret given as %s occurs in no answer, report or file", async (_, way) => {
	const server = await start();
	const id = await server.session();
	const asOperator = way.isOperator ? { authorization: `Bearer ${server.adminToken}` } : {};
	const own = way.headers?.origin === "OWN" ? { origin: server.url } : {};
	for (const route of server.routes) {
		const { method, isSocket } = route;
		const path = `${pathOf(route, id)}${way.query ?? ""}`;
		const { text } = await ask(server.url, {
			method,
			isSocket,
			path,
			headers: { ...way.headers, ...own, ...asOperator },
		});
		expect({ method, path, isRepeated: text.includes(CANARY) }).toEqual({ method, path, isRepeated: false });
	}
	expect(describe(server.problems)).not.toContain(CANARY);
	expect(await filesOf(server)).not.toContain(CANARY);
});

it.each(["/%zz", "/v1/sessions/%zz", "/nowhere", `/v1/sessions/${"x".repeat(200)}`])(
	"a secret in the query of %s is not repeated in the error",
	async (path) => {
		const server = await start();
		const { status, text } = await ask(server.url, { method: "GET", path: `${path}?token=${CANARY}` });
		expect([400, 401, 404, 414]).toContain(status);
		expect(text).toContain('"error"');
		expect(text).not.toContain(CANARY);
	},
);

async function said(response: Response): Promise<string> {
	return `${JSON.stringify([...response.headers])}${await response.text()}`;
}

it("the value of a variable occurs in no answer, whether its program started or not", async () => {
	const server = await start();
	const { status, body } = await server.post("/v1/sessions", {
		argv: ["cat"],
		durable: false,
		env: { SECRET: CANARY },
	});
	expect(status).toBe(201);
	for (const path of ["/v1/sessions", `/v1/sessions/${body.id}`]) {
		expect(await said(await server.request(path))).not.toContain(CANARY);
	}
	expect(JSON.stringify(body)).not.toContain(CANARY);
	const missing = await server.post("/v1/sessions", { argv: ["/nowhere"], durable: false, env: { SECRET: CANARY } });
	expect(JSON.stringify(missing)).not.toContain(CANARY);
	const extra = { argv: ["cat"], env: { SECRET: CANARY }, secret: CANARY };
	expect(JSON.stringify(await server.post("/v1/sessions", extra))).not.toContain(CANARY);
	// Values that are refused as invalid.
	for (const env of [{ SECRET: `${CANARY}\0` }, { SECRET: [CANARY] }, CANARY]) {
		const refused = await server.post("/v1/sessions", { argv: ["cat"], env });
		expect(refused.status).toBe(400);
		expect(JSON.stringify(refused)).not.toContain(CANARY);
	}
});

it("a generated secret is sent once: no list, file or later answer contains it", async () => {
	const server = await start();
	const id = await server.session();
	const token = await server.token("admin");
	const { ticket = "" } = (await server.post("/v1/tickets", { session: id })).body;
	const code = new URL(server.signInUrl ?? "").searchParams.get("code") ?? "";
	const signedIn = await fetch(server.signInUrl ?? "", { method: "POST", redirect: "manual" });
	const cookie = /=([^;]+)/.exec(signedIn.headers.get("set-cookie") ?? "")?.[1] ?? "";
	const pageKey = /data-key="([^"]+)"/.exec(await signedIn.text())?.[1] ?? "";
	const later = await Promise.all(
		["/v1/tokens", "/v1/sessions", "/healthz"].map(async (path) => said(await server.request(path))),
	);
	const files = await filesOf(server);
	for (const secret of [token.slice(17), ticket, code, cookie, pageKey]) {
		expect(secret.length).toBe(43);
		expect(later.join()).not.toContain(secret);
		expect(files).not.toContain(secret);
	}
});

function describe(problems: readonly unknown[]): string {
	return problems.map((problem) => (problem instanceof Error ? `${problem.stack} ${problem.cause}` : problem)).join();
}

/** Everything written, except the file made to hold it, once writing has finished. */
async function filesOf({ stateDir, close }: Started): Promise<string> {
	await close();
	const entries = await readdir(stateDir, { withFileTypes: true, recursive: true });
	const files = entries.filter((entry) => entry.isFile() && entry.name !== "admin-token");
	return (await Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name), "latin1")))).join();
}
