import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Terminal } from "../../support/cli-terminal.ts";
import { TestHawser } from "../../support/hawser-command.ts";

let hawser: TestHawser;
beforeAll(async () => {
	hawser = await TestHawser.create();
});
afterAll(() => hawser.remove());

const OWN = {
	PATH: "/usr/bin:/bin:/opt/venv/bin",
	SSH_AUTH_SOCK: "/tmp/agent.sock",
	EDITOR: "ed",
	TERM: "tmux-256color",
};

async function environment(args: readonly string[], env: NodeJS.ProcessEnv = OWN): Promise<Record<string, string>> {
	const { stdout, stderr } = await hawser.run(["run", ...args, "--", "env", "-0"], { env });
	expect(stderr).toBe("");
	const pairs = stdout.split("\0").filter((pair) => pair !== "");
	return Object.fromEntries(pairs.map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)]));
}

describe("the environment of what run starts", () => {
	it("run gives the program the caller's environment, not the server's", async () => {
		const { HAWSER_SESSION, ...found } = await environment([]);
		expect(found).toEqual({ ...OWN, HOME: "/tmp", HAWSER_STATE_DIR: hawser.stateDir });
		expect(HAWSER_SESSION).toMatch(/^[a-z0-9]+$/);
	});

	it("run adds the variables of --env, and the ids of the sessions around it", async () => {
		const env = { ...OWN, HAWSER_SESSION: "inner", HAWSER_WITHIN: "outer" };
		expect(await environment(["--env", "EDITOR=vi", "--env", "MORE=1"], env)).toMatchObject({
			EDITOR: "vi",
			MORE: "1",
			HAWSER_WITHIN: "inner outer",
			HAWSER_SESSION: expect.not.stringMatching(/^inner$/),
		});
	});

	const token = async () => (await readFile(join(hawser.stateDir, "admin-token"), "utf8")).trim();

	it("run passes the caller's token only if --env names it", async () => {
		const env = { ...OWN, HAWSER_TOKEN: await token() };
		expect(await environment([], env)).not.toHaveProperty("HAWSER_TOKEN");
		expect(await environment(["--env", "HAWSER_TOKEN"], env)).toHaveProperty("HAWSER_TOKEN", env.HAWSER_TOKEN);
	});

	it("run --sandbox passes neither variables of Hawser nor agent sockets", async () => {
		const own = { ...OWN, GPG_AGENT_INFO: "/tmp/gpg.sock" };
		const env = { ...own, HAWSER_TOKEN: await token(), HAWSER_ON: "", HAWSER_SESSION: "inner" };
		const { HAWSER_SESSION, ...found } = await environment(["--sandbox", "read-only"], env);
		const { SSH_AUTH_SOCK: _, ...harmless } = OWN;
		expect(found).toEqual({ ...harmless, HOME: "/tmp", HAWSER_WITHIN: "inner" });
		expect(HAWSER_SESSION).not.toBe("inner");
		const asked = await environment(["--sandbox", "read-only", "--env", "SSH_AUTH_SOCK"], env);
		expect(asked.SSH_AUTH_SOCK).toBe(OWN.SSH_AUTH_SOCK);
		expect(await environment(["--sandbox", "danger-full-access"], env)).toMatchObject(own);
	});

	it("run uses the server's environment with --clean-env, and for a server at another address", async () => {
		const { url } = JSON.parse(await readFile(join(hawser.stateDir, "server.json"), "utf8")) as { url: string };
		// Another address of the same server, so that the command takes it for a remote one.
		const elsewhere = ["--url", url.replace("127.0.0.1", "localhost"), "--token", await token()];
		for (const args of [["--clean-env"], elsewhere]) {
			const found = await environment(args);
			expect(found).toMatchObject({ PATH: process.env.PATH, TERM: "xterm-256color" });
			expect(found).not.toHaveProperty("SSH_AUTH_SOCK");
		}
	});

	it("variables of a task override the caller's, and --env overrides both", async () => {
		await hawser.run(["workspace", "set", "default"]);
		await hawser.run(["task", "set", "t", "--work-dir", "/tmp", "--env", "EDITOR=task", "--env", "STAGE=test"]);
		expect(await environment(["--task", "t", "--env", "STAGE=mine"])).toMatchObject({ EDITOR: "task", STAGE: "mine" });
	});

	it("run sets terminal variables when the caller has none", async () => {
		expect((await environment(["--tty"], { PATH: OWN.PATH })).TERM).toBe("xterm-256color");
		expect((await environment(["--tty"])).TERM).toBe("tmux-256color");
	});
});

it("run without a command starts the caller's shell", async () => {
	const terminal = await Terminal.start(hawser, ["run"], { before: "export SHELL=/bin/sh PS1='<prompt>'" });
	await terminal.attached();
	await terminal.shows("<prompt>");
	await terminal.type("exit 3\r");
	expect(await terminal.ended()).toEqual({ code: 3, isRestored: true });
	expect((await hawser.run(["run", "--detach", "--pipe"], { env: { SHELL: "/bin/cat" } })).code).toBe(0);
	expect((await hawser.run(["ls"])).stdout).toMatch(/\/bin\/cat/);
});
