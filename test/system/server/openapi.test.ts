/** The API description as other programs use it: a validator, a client generator and a compiler. */

import { spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020 } from "ajv/dist/2020.js";
import openapiTS, { astToString } from "openapi-typescript";
import { expect, it } from "vitest";
import { result } from "../../support/hawser-command.ts";
import { type Started, start } from "../../support/server.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

const compiler = fileURLToPath(new URL("../../../node_modules/typescript/bin/tsc", import.meta.url));

type Operation = { operationId: string; tags: string[]; responses: Record<string, { content?: object }> };
type Description = {
	tags: { name: string }[];
	paths: Record<string, Record<string, Operation>>;
	components: { schemas: Record<string, { examples?: unknown[] }> };
};

const descriptionOf = async (server: Started) =>
	(await (await fetch(`${server.url}/openapi.json`)).json()) as Description;

it("the API description passes a third-party validator", async () => {
	const { valid, errors } = await new Validator().validate(await descriptionOf(await start()));
	expect(errors ?? []).toEqual([]);
	expect(valid).toBe(true);
});

it("the API description describes all operations, tags and shared schemas", async () => {
	const { paths, tags, components } = await descriptionOf(await start());
	const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
	const ids = operations.map(({ operationId }) => operationId);
	expect(ids).toEqual(expect.arrayContaining(["createSession", "listSessions", "killSession", "readOutput"]));
	expect(ids.filter((id) => /V1|SessionsId/.test(id))).toEqual([]);
	for (const { tags: used } of operations) {
		expect(tags.map(({ name }) => name)).toEqual(expect.arrayContaining(used));
	}
	const named = ["SessionMessage", "CreateSession", "FeedEvent", "OutputEvent", "ExitMessage", "TokenMessage"];
	expect(Object.keys(components.schemas)).toEqual(expect.arrayContaining(named));
	// Every body has a described content.
	for (const { operationId, responses } of operations) {
		for (const { content = {} } of Object.values(responses)) {
			for (const body of Object.values(content)) expect({ operationId, body }).toHaveProperty("body.schema");
		}
	}
});

it("the examples in the API description match their schemas", async () => {
	const description = await descriptionOf(await start());
	const ajv = new Ajv2020({ strict: false, validateFormats: false });
	ajv.addSchema({ $id: "api", ...description });
	const given = Object.entries(description.components.schemas).filter(([, { examples }]) => examples);
	expect(given.map(([name]) => name)).toEqual(
		expect.arrayContaining(["CreateSession", "SessionMessage", "ErrorMessage"]),
	);
	for (const [name, { examples = [] }] of given) {
		const check = ajv.compile({ $ref: `api#/components/schemas/${name}` });
		for (const example of examples) expect({ name, isValid: check(example) }).toEqual({ name, isValid: true });
	}
});

it("the API description generates a client whose types match the server's own answers", async () => {
	const server = await start();
	const folder = await temporaryDirectory();
	const description = await descriptionOf(server);
	await writeFile(join(folder, "api.ts"), astToString(await openapiTS(description as never)));
	const lines = ['import type { operations } from "./api.ts";'];
	const answered = async (operation: string, response: Response) => {
		const type = `operations["${operation}"]["responses"]["${response.ok ? response.status : "default"}"]`;
		const value = JSON.stringify(await response.json());
		// A literal may have no unknown member, so both sides are checked.
		lines.push(`export const answer${lines.length}: ${type}["content"]["application/json"] = ${value};`);
		return JSON.parse(value) as { id: string };
	};
	const post = (path: string, body?: object) =>
		server.request(path, {
			method: "POST",
			...(body ? { headers: { "content-type": "application/json" }, body: JSON.stringify(body) } : {}),
		});
	const { id } = await answered(
		"createSession",
		await post("/v1/sessions", { argv: ["cat"], durable: false, name: "x" }),
	);
	const at = `/v1/sessions/${id}`;
	await answered("listSessions", await server.request("/v1/sessions"));
	await answered("getSession", await server.request(at));
	await answered("getSession", await server.request("/v1/sessions/nosuch"));
	await answered("pressKeys", await post(`${at}/keys`, { keys: ["Enter"] }));
	await answered("resizeTerminal", await post(`${at}/resize`, { cols: 9, rows: 9 }));
	await answered("signalProgram", await post(`${at}/signal`, { signal: "CONT" }));
	await answered("takeLease", await post(`${at}/lease`));
	await answered("releaseLease", await server.request(`${at}/lease`, { method: "DELETE" }));
	await answered("endInput", await post(`${at}/eof`));
	await answered("killSession", await post(`${at}/kill`));
	await answered("createToken", await post("/v1/tokens", { scopes: [`session:${id}:view`], expiresInMs: 1e6 }));
	await answered("listTokens", await server.request("/v1/tokens"));
	await answered("createTicket", await post("/v1/tickets", { session: id }));
	await answered("createSignInLink", await post("/v1/signin-links"));
	await answered("proveToken", await post("/v1/proof", { token: "admin", nonce: "0123456789abcdef" }));
	await answered("getInfo", await server.request("/v1/info"));
	await answered("getMe", await server.request("/v1/me"));
	await answered("getHealth", await server.request("/healthz"));
	await answered("getReadiness", await server.request("/readyz"));
	const asked = 'export const asked: operations["createSession"]["requestBody"]["content"]["application/json"]';
	lines.push(`${asked} = { argv: ["ls"], env: { A: null }, sandbox: { type: "readOnly" } };`);
	await writeFile(join(folder, "answers.ts"), `${lines.join("\n")}\n`);
	const options = ["--noEmit", "--strict", "--allowImportingTsExtensions", "--module", "nodenext", "--types", "*"];
	const files = ["api.ts", "answers.ts"].map((name) => join(folder, name));
	const { code, stdout } = await result(spawn(process.execPath, [compiler, ...options, ...files], { cwd: folder }));
	expect(stdout).toBe("");
	expect(code).toBe(0);
});
