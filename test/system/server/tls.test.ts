import { readFileSync } from "node:fs";
import { chmod, writeFile } from "node:fs/promises";
import { request as httpsRequest } from "node:https";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { ConfigError, loadConfig, readTls } from "../../../src/server/config.ts";
import { start } from "../../support/server.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

/** Made by openssl for localhost and 127.0.0.1, valid until 2126. */
const fixture = (name: string) => fileURLToPath(new URL(`../../fixtures/${name}`, import.meta.url));
const tlsCert = fixture("tls-cert.pem");
const tlsKey = fixture("tls-key.pem");

type Answer = { status: number | undefined; cookie: string | undefined; body: string };

function ask(url: string, options: { method?: string; headers?: Record<string, string> } = {}): Promise<Answer> {
	return new Promise((resolve, reject) => {
		const request = httpsRequest(url, { ...options, ca: readFileSync(tlsCert) }, async (response) => {
			let body = "";
			for await (const chunk of response) body += chunk;
			resolve({ status: response.statusCode, cookie: response.headers["set-cookie"]?.[0], body });
		});
		request.on("error", reject).end();
	});
}

describe("a server with a certificate", () => {
	it("a server with a certificate speaks only TLS", async () => {
		const server = await start({ tlsCert, tlsKey });
		expect(server.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
		expect(await ask(`${server.url}/healthz`)).toMatchObject({ status: 200 });
		expect(await ask(`${server.url}/v1/sessions`)).toMatchObject({ status: 401 });
		const headers = { authorization: `Bearer ${server.adminToken}` };
		expect(await ask(`${server.url}/v1/sessions`, { headers })).toMatchObject({ status: 200 });
		await expect(fetch(`${server.url.replace("https", "http")}/healthz`)).rejects.toThrow();
	});

	it("WebSockets use TLS and the same authentication", async () => {
		const server = await start({ tlsCert, tlsKey });
		const knock = (headers: Record<string, string>) =>
			new Promise((resolve) => {
				const url = `${server.url.replace("https", "wss")}/v1/sessions/unknown/attach`;
				const socket = new WebSocket(url, "hawser.v1", { headers, ca: readFileSync(tlsCert) });
				socket.on("error", () => {});
				socket.on("unexpected-response", (_request, { statusCode }) => resolve(statusCode));
			});
		const authorization = `Bearer ${server.adminToken}`;
		expect(await knock({})).toBe(401);
		expect(await knock({ authorization, origin: server.url.replace("https", "http") })).toBe(403);
		expect(await knock({ authorization, origin: server.url })).toBe(404);
	});

	it("browsers get a cookie that plain connections can neither set nor read", async () => {
		const server = await start({ tlsCert, tlsKey });
		expect(server.signInUrl).toMatch(/^https:/);
		const headers = { origin: server.url };
		const { status, cookie = "", body } = await ask(server.signInUrl ?? "", { method: "POST", headers });
		expect(status).toBe(200);
		expect(cookie).toMatch(/^__Host-hawser_session_[0-9a-f]{8}=.*; Path=\/; HttpOnly; SameSite=Strict; Secure$/);
		const key = { "hawser-key": /data-key="([^"]+)"/.exec(body)?.[1] ?? "" };
		const shown = { ...key, cookie: cookie.split(";")[0] ?? "" };
		expect(await ask(`${server.url}/v1/sessions`, { headers: shown })).toMatchObject({ status: 200 });
		const plain = { ...key, cookie: (cookie.split(";")[0] ?? "").replace("__Host-", "") };
		expect(await ask(`${server.url}/v1/sessions`, { headers: plain })).toMatchObject({ status: 401 });
	});
});

describe("settings for remote access", () => {
	it("a public address requires TLS, from the server or a proxy, and authentication", () => {
		expect(() => loadConfig({ host: "0.0.0.0" }, {})).toThrow(
			"--host: 0.0.0.0 can be reached by others; give --tls-cert and --tls-key, or put a TLS proxy in front and add --behind-proxy",
		);
		loadConfig({ host: "0.0.0.0", behindProxy: true }, {});
		loadConfig({ host: "0.0.0.0", tlsCert, tlsKey }, {});
		expect(() => loadConfig({ host: "0.0.0.0", tlsCert, tlsKey, auth: false }, {})).toThrow("--no-auth");
	});

	it("a certificate requires its key", () => {
		expect(() => loadConfig({ tlsCert }, {})).toThrow("--tls-key: required with --tls-cert");
		expect(() => loadConfig({}, { HAWSER_TLS_KEY: tlsKey })).toThrow("--tls-cert: required with --tls-key");
	});

	it.each([
		["--tls-cert", { certFile: "/nowhere/cert.pem", keyFile: tlsKey }, "/nowhere/cert.pem can't be read (ENOENT)"],
		["--tls-key", { certFile: tlsCert, keyFile: "/nowhere/key.pem" }, "/nowhere/key.pem can't be read (ENOENT)"],
		["--tls-cert", { certFile: tlsKey, keyFile: tlsKey }, "is not a certificate in PEM form"],
		["--tls-key", { certFile: tlsCert, keyFile: tlsCert }, "is not a private key in PEM form"],
		["--tls-key", { certFile: tlsCert, keyFile: fixture("tls-other-key.pem") }, "is not the key of the certificate"],
	])("an invalid %s is reported in one sentence", (setting, files, sentence) => {
		expect(() => readTls(files)).toThrow(ConfigError);
		expect(() => readTls(files)).toThrow(setting);
		expect(() => readTls(files)).toThrow(sentence);
	});

	it("an error about an unusable key contains nothing of the key", async () => {
		const keyFile = join(await temporaryDirectory(), "key.pem");
		await writeFile(keyFile, readFileSync(tlsKey, "utf8").replace("BEGIN PRIVATE KEY", "BEGIN PRIVATE"));
		await chmod(keyFile, 0o600);
		const body = readFileSync(tlsKey, "utf8").split("\n")[1] ?? "";
		let message = "";
		try {
			readTls({ certFile: tlsCert, keyFile });
		} catch (error) {
			message = `${error} ${(error as Error).stack} ${(error as Error).cause}`;
		}
		expect(message).toContain("is not a private key");
		expect(message).not.toContain(body);
	});

	it.each(["evil.test", "https://a.example/path", "*", "null"])(
		"%j is not a valid allowed origin",
		(allowedOrigins) => {
			expect(() => loadConfig({ allowedOrigins }, {})).toThrow("--allowed-origins: expected origins such as");
		},
	);

	it("limits have defaults", () => {
		expect(loadConfig({}, {})).toMatchObject({
			maxAttachments: 100,
			maxConnections: 4096,
			createRate: 20,
			allowedOrigins: [],
			tls: null,
		});
		expect(loadConfig({ allowedOrigins: "https://a.example, http://localhost:5173" }, {}).allowedOrigins).toEqual([
			"https://a.example",
			"http://localhost:5173",
		]);
	});
});
