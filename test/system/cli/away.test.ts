// @module-tag slow

import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Terminal } from "../../support/cli-terminal.ts";
import { result, TestHawser } from "../../support/hawser-command.ts";

let hawser: TestHawser;
beforeAll(async () => {
	hawser = await TestHawser.create();
	await hawser.detached("echo ready; exec cat", { name: "work" });
});
afterAll(() => hawser.remove());

async function announced(): Promise<{ url: string; pid: number }> {
	return JSON.parse(await readFile(join(hawser.stateDir, "server.json"), "utf8")) as { url: string; pid: number };
}

describe("a server that is away", () => {
	it("an unreachable server is reported as such, not as a lost session, also for a program on pipes", async () => {
		const terminal = await Terminal.start(hawser, ["attach", "work", "--reconnect-timeout", "500ms"]);
		await terminal.attached();
		const child = hawser.start([
			"run",
			"--reconnect-timeout",
			"500ms",
			"--name",
			"piped",
			"--",
			"sh",
			"-c",
			"echo ready; sleep 600",
		]);
		if (!child.stdout) throw new Error("no pipes");
		const piped = result(child);
		await once(child.stdout, "data");
		await hawser.stopServer("SIGTERM");
		expect(await terminal.ended()).toEqual({ code: 254, isRestored: true });
		expect(terminal.output).not.toContain("was lost");
		expect(terminal.output).toMatch(/the program keeps running; start a server .*hawser attach work/);
		const { code, stderr } = await piped;
		expect({ code, stderr }).toEqual({
			code: 254,
			stderr: expect.stringContaining("reattach with: hawser attach piped"),
		});
		const listed = await hawser.run(["ls"]);
		expect(listed).toMatchObject({
			code: 1,
			stderr: expect.stringMatching(/no server is running.*keep running.*hawser serve/),
		});
		await hawser.startServer();
	});

	it("a stopped or crashed server and a missing session have different messages", async () => {
		await hawser.stopServer("SIGKILL");
		const commands = [["ls"], ["logs", "work"], ["send", "work", "x"], ["token", "ls"]];
		for (const { code, stderr } of await Promise.all(commands.map((args) => hawser.run(args)))) {
			expect({ code, stderr }).toEqual({
				code: 1,
				stderr: expect.stringMatching(/^hawser: no server is running .*keep running.*hawser serve/),
			});
		}
		expect((await hawser.run(["doctor"])).stdout).toMatch(
			/^warn {2}server: the server crashed or was killed; .*keep running.*\n {6}start it again: hawser serve$/m,
		);
		await hawser.startServer();
	});

	it("a server that hangs is detected", async () => {
		const terminal = await Terminal.start(hawser, ["attach", "work"]);
		await terminal.attached();
		hawser.signalServer("SIGSTOP");
		const commands = [["ls"], ["logs", "work"], ["send", "work", "x"], ["kill", "work"], ["run", "true"]];
		// Concurrent, because each waits for some seconds.
		const results = await Promise.all(commands.map((args) => hawser.run(args)));
		expect(results.map(({ code }) => code)).toEqual([1, 1, 1, 1, 255]);
		for (const { stderr } of results) expect(stderr).toContain("is not responding");
		await terminal.shows("server unreachable");
		hawser.signalServer("SIGCONT");
		await terminal.shows("reconnected");
		await terminal.type("~.");
		expect(await terminal.ended()).toEqual({ code: 0, isRestored: true });
	}, 60_000);
});

it("attach with a revoked token reports the revocation and that the program keeps running", async () => {
	const { url } = await announced();
	const { stdout: token, stderr } = await hawser.run(["token", "create"]);
	const [, id = ""] = /token (\w+) \(/.exec(stderr) ?? [];
	const address = ["--url", url.replace("127.0.0.1", "localhost"), "--token", token.trim()];
	const terminal = await Terminal.start(hawser, ["attach", "work", ...address]);
	await terminal.attached();
	expect(await hawser.run(["token", "revoke", id])).toMatchObject({ code: 0 });
	expect(await terminal.ended()).toEqual({ code: 254, isRestored: true });
	expect(terminal.output).toMatch(/token.*the program keeps running; with a valid token/);
	expect(terminal.output).not.toContain("was lost");
	expect((await hawser.run(["ls", ...address])).stderr).toContain("hawser token create");
});

it("a command given an https address reports that the server speaks http", async () => {
	const { url } = await announced();
	const env = { HAWSER_STATE_DIR: join(hawser.stateDir, "none"), HAWSER_URL: url.replace("http:", "https:") };
	expect(await hawser.run(["ls"], { env })).toMatchObject({
		code: 1,
		stderr: expect.stringContaining(`the server uses http; try ${url}`),
	});
});

it("serve on all interfaces announces a usable address, and certificate errors are shown", async () => {
	await hawser.stopServer("SIGTERM");
	const fixture = (name: string) => fileURLToPath(new URL(`../../fixtures/${name}`, import.meta.url));
	const cert = fixture("tls-cert.pem");
	const said = await hawser.startServer(["--host", "0.0.0.0", "--tls-cert", cert, "--tls-key", fixture("tls-key.pem")]);
	expect(said).toMatch(/^listening on https:\/\/localhost:\d+$/);
	const { url } = await announced();
	expect(said).toBe(`listening on ${url}`);
	const env = { HAWSER_STATE_DIR: join(hawser.stateDir, "none"), HAWSER_URL: url };
	const trusting = { ...env, NODE_EXTRA_CA_CERTS: cert };
	const token = (await readFile(join(hawser.stateDir, "admin-token"), "utf8")).trim();
	const [untrusted, plain, trusted, own] = await Promise.all([
		hawser.run(["ls"], { env }),
		hawser.run(["ls"], { env: { ...env, HAWSER_URL: url.replace("https:", "http:") } }),
		hawser.run(["ls", "--token", token], { env: trusting }),
		hawser.run(["ls"]),
	]);
	expect(untrusted).toMatchObject({
		code: 1,
		stderr: expect.stringMatching(/can't verify the certificate of https:.*: self-signed.*NODE_EXTRA_CA_CERTS/),
	});
	expect(plain).toMatchObject({ code: 1, stderr: expect.stringContaining(`the server uses https; try ${url}`) });
	expect(trusted).toMatchObject({ code: 0 });
	expect(own).toMatchObject({ code: 0 });
});

// This test comes last: its server must not be stopped by the others.
it("attach starts a server when none is running, as run does", async () => {
	await hawser.stopServer("SIGTERM");
	const terminal = await Terminal.start(hawser, ["attach", "work"], {
		before: "export HAWSER_PORT=0 HAWSER_SPARES=0",
	});
	await terminal.attached();
	await terminal.shows("ready");
	await terminal.type("~.");
	expect(await terminal.ended()).toEqual({ code: 0, isRestored: true });
});
