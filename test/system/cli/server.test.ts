// @module-tag slow

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { result, TestHawser } from "../../support/hawser-command.ts";
import { eventually } from "../../support/reading.ts";

let hawser: TestHawser;
beforeAll(async () => {
	hawser = await TestHawser.create();
});
afterAll(() => hawser.remove());

describe("serve", () => {
	it("serve prints its address, ends cleanly, and leaves durable sessions to the next server", async () => {
		const { stdout } = await hawser.run(["run", "--detach", "--", "sh", "-c", "read x; echo got $x"]);
		const id = stdout.trim();
		expect(await hawser.stopServer("SIGTERM")).toBe(0);
		expect(hawser.serverRemarks).toContain("durable sessions keep running");
		expect(await hawser.run(["ls"])).toEqual({ code: 1, stdout: "", stderr: expect.stringContaining("hawser serve") });

		expect(await hawser.startServer()).toMatch(/^listening on http:\/\/127\.0\.0\.1:\d+$/);
		await hawser.run(["send", id, "it", "--enter"]);
		expect((await hawser.run(["logs", "-f", id])).stdout).toContain("got it");
	});

	it.each(["SIGKILL", "SIGTERM"] as const)("serve after %s counts only sessions that still run", async (signal) => {
		const own = await TestHawser.create();
		onTestFinished(() => own.remove());
		const remarksOfNext = async () => {
			await own.stopServer(signal);
			own.serverRemarks = "";
			await own.startServer();
			// The last remark of a start.
			await eventually("the remarks of the start", () => own.serverRemarks.includes("sign in with a browser"));
			return own.serverRemarks;
		};
		for (let ended = 0; ended < 2; ended++) await own.run(["run", "--", "true"]);
		expect(await remarksOfNext()).not.toContain("found");
		await own.detached("exec cat");
		expect(await remarksOfNext()).toContain("found 1 running session\n");
	});

	it("serve ends cleanly when it is signalled right after it prints its address", async () => {
		const { stateDir } = hawser;
		const program = fileURLToPath(new URL("../../../dist/cli/main.js", import.meta.url));
		await hawser.stopServer("SIGTERM");
		const early = spawn(process.execPath, [program, "serve", "--port", "0", "--state-dir", stateDir], {
			stdio: ["ignore", "pipe", "ignore"],
		});
		await once(early.stdout, "data");
		early.kill("SIGTERM");
		expect(await once(early, "exit")).toEqual([0, null]);
		await hawser.startServer();
	});

	it("serve restores its sessions when the previous server's number is lost, emptied or damaged", async () => {
		const id = await hawser.detached("while read x; do echo got $x; done");
		const generation = join(hawser.stateDir, "generation");
		const damages = {
			lost: () => rm(generation),
			emptied: () => truncate(generation),
			damaged: () => writeFile(generation, "\0\0"),
		};
		// The session knows two servers at this point.
		await hawser.stopServer("SIGTERM");
		await hawser.startServer();
		for (const [name, damage] of Object.entries(damages)) {
			await hawser.stopServer("SIGTERM");
			await damage();
			await hawser.startServer();
			const session = (await hawser.client()).sessions.at(id);
			await session.write(`${name}\r`);
			expect(await session.wait({ match: new RegExp(`got ${name}`) })).toMatchObject({ kind: "match" });
		}
	});

	it("serve keeps its token private", async () => {
		const { mode } = await stat(join(hawser.stateDir, "admin-token"));
		expect(mode & 0o777).toBe(0o600);
		const { url } = JSON.parse(await readFile(join(hawser.stateDir, "server.json"), "utf8")) as { url: string };
		const token = (await readFile(join(hawser.stateDir, "admin-token"), "utf8")).trim();
		const elsewhere = await mkdtemp(join(tmpdir(), "hawser-empty-"));
		try {
			const env = { HAWSER_STATE_DIR: elsewhere, HAWSER_URL: url };
			expect(await hawser.run(["ls"], { env })).toMatchObject({
				code: 1,
				stderr: expect.stringContaining("token is required"),
			});
			expect(await hawser.run(["ls"], { env: { ...env, HAWSER_TOKEN: "wrong" } })).toMatchObject({
				code: 1,
				stderr: expect.stringContaining("not valid"),
			});
			expect(await hawser.run(["ls", "--token", token], { env })).toMatchObject({ code: 0 });
		} finally {
			await rm(elsewhere, { recursive: true });
		}
	});

	it.each([
		[["--port", "65536"], "--port"],
		[["--port", "http"], "--port"],
		[["--max-sessions", "0"], "--max-sessions"],
		[["--max-journal", "lots"], "--max-journal"],
		[["--host", "0.0.0.0"], "--behind-proxy"],
		[["--host", "0.0.0.0", "--behind-proxy", "--no-auth"], "--no-auth"],
	])("serve refuses %j in one line that names the setting", async (args, names) => {
		const { code, stdout, stderr } = await hawser.run(["serve", ...args]);
		expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
		expect(stderr).toContain(names);
		expect(stderr.trim().split("\n")).toHaveLength(1);
	});

	it("serve refuses a second server on the same state directory in one line", async () => {
		const { code, stderr } = await hawser.run(["serve", "--port", "0"]);
		expect(code).toBe(4);
		expect(stderr).toContain("another server");
		expect(stderr.trim().split("\n")).toHaveLength(1);
	});
});

it("logs -f continues where it was after the server is killed and restarted", async () => {
	const goOn = join(hawser.stateDir, "go-on");
	const script = `seq 30; until [ -e ${goOn} ]; do sleep 0.01; done; seq 31 60`;
	const id = await hawser.detached(script, { mode: "pipe" });
	const child = hawser.start(["logs", "-f", id]);
	const done = result(child);
	if (!child.stdout || !child.stderr) throw new Error("no pipes");
	await once(child.stdout, "data");
	const noticed = once(child.stderr, "data");
	await hawser.stopServer("SIGKILL");
	await noticed;
	await writeFile(goOn, "");
	await hawser.startServer();
	const { code, stdout, stderr } = await done;
	expect(stdout).toBe(Array.from({ length: 60 }, (_, index) => `${index + 1}\n`).join(""));
	expect({ code, stderr }).toEqual({
		code: 0,
		stderr: "hawser: server unreachable; reconnecting\nhawser: reconnected\n",
	});
});

const everyCommand =
	"serve stop service run attach detach ls show logs send wait rename resize signal kill rm login logout remotes signin-link doctor completion".split(
		" ",
	);

it("every command has help with examples", async () => {
	for (const command of everyCommand) {
		const { code, stdout, stderr } = await hawser.run([command, "--help"]);
		expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
		expect(stdout).toContain(`Examples:\n  hawser ${command}`);
	}
});
