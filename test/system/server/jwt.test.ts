import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { loadConfig } from "../../../src/server/config.ts";
import { AUDIENCE, edSigner, ISSUER } from "../../access/jwt-signer.ts";
import { start } from "../../support/server.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

async function startBelieving() {
	const signer = edSigner();
	const jwtKey = join(await temporaryDirectory(), "key.pem");
	await writeFile(jwtKey, signer.keyFile);
	const server = await start({ jwtKey, jwtIssuer: ISSUER, jwtAudience: AUDIENCE });
	return { server, signer };
}

describe("a server configured for JWTs", () => {
	it("a JWT is a bearer token of the native API for the workspaces it names", async () => {
		const { server, signer } = await startBelieving();
		const token = signer.sign({ workspaces: { red: "manage" } });
		const create = (workspace: string) =>
			server.post("/v1/sessions", { argv: ["cat"], workspace, durable: false }, token);
		const made = await create("red");
		expect(made.status).toBe(201);
		expect((await create("blue")).status).toBe(403);
		const other = await server.session("blue");
		const look = async (id: string) =>
			(await server.request(`/v1/sessions/${id}`, { headers: { authorization: `Bearer ${token}` } })).status;
		expect([await look(String(made.body.id)), await look(other)]).toEqual([200, 404]);
		expect((await server.post("/v1/sessions", { argv: ["cat"] }, edSigner().sign({}))).status).toBe(401);
	});

	it("connections opened with a JWT close when it expires", async () => {
		const { server, signer } = await startBelieving();
		const id = await server.session("red");
		const url = `${server.url.replace("http", "ws")}/v1/sessions/${id}/attach`;
		/** A socket opened before its JWT expired. If it expired, one with a longer life follows. */
		const openedInTime = async (seconds: number): Promise<{ exp: number; socket: WebSocket }> => {
			const exp = Math.ceil(Date.now() / 1000) + seconds;
			const headers = { authorization: `Bearer ${signer.sign({ workspaces: { red: "read" }, exp })}` };
			const socket = new WebSocket(url, "hawser.v1", { headers });
			socket.once("open", () => socket.send(JSON.stringify({ type: "hello", since: 0, role: "viewer", flow: "live" })));
			const refused = once(socket, "unexpected-response").then(([, response]) => response.statusCode as number);
			const status = await Promise.race([once(socket, "open").then(() => 101), refused]);
			if (status === 101) return { exp, socket };
			expect(status).toBe(401);
			return openedInTime(2 * seconds);
		};
		const { exp, socket } = await openedInTime(1);
		const [code] = await once(socket, "close");
		expect(code).toBe(4003);
		expect(Date.now()).toBeGreaterThanOrEqual(exp * 1000);
	});

	it("a JWT setting that is missing or invalid is named", async () => {
		const load = (flags: object) => () => loadConfig({ stateDir: "/tmp", ...flags }, {});
		expect(load({ jwtKey: "/k" })).toThrow("--jwt-issuer: required");
		expect(load({ jwtIssuer: "a", jwtAudience: "b" })).toThrow("--jwt-key: required");
		const flags = { jwtKey: "/nowhere/key", jwtIssuer: "a", jwtAudience: "b" };
		await expect(start(flags)).rejects.toThrow("--jwt-key: /nowhere/key can't be read (ENOENT)");
	});
});
