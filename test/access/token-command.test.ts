import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TestHawser } from "../support/hawser-command.ts";

let hawser: TestHawser;
beforeAll(async () => {
	hawser = await TestHawser.create();
});
afterAll(() => hawser.remove());

describe("hawser token", () => {
	it("hawser token prints a new token alone on stdout, lists it without its secret, and revokes it", async () => {
		const created = await hawser.run(["token", "create", "--name", "ci", "--scope", "workspace:ci:manage"]);
		expect(created.code).toBe(0);
		expect(created.stdout).toMatch(/^hwt_[0-9a-f]{12}_[A-Za-z0-9_-]{43}\n$/);
		const token = created.stdout.trim();
		const id = token.slice(4, 16);
		expect(created.stderr).toContain(id);
		expect(created.stderr).not.toContain(token);
		const env = { HAWSER_TOKEN: token };
		expect(await hawser.run(["ls"], { env })).toMatchObject({ code: 0 });

		const listed = await hawser.run(["token", "ls"]);
		expect(listed.stdout).toContain(`${id}  ci`);
		expect(listed.stdout).not.toContain(token.slice(17));
		const json = await hawser.run(["token", "ls", "--json"]);
		expect(JSON.parse(json.stdout)).toMatchObject([{ id, name: "ci", scopes: ["workspace:ci:manage"] }]);

		expect(await hawser.run(["token", "revoke", id])).toEqual({ code: 0, stdout: "", stderr: "" });
		expect(await hawser.run(["ls"], { env })).toMatchObject({ code: 1, stderr: expect.stringContaining("not valid") });
	});

	it("hawser token uses the server that --on names", async () => {
		const { url } = JSON.parse(await readFile(join(hawser.stateDir, "server.json"), "utf8")) as { url: string };
		const input = await readFile(join(hawser.stateDir, "admin-token"), "utf8");
		const env = { XDG_CONFIG_HOME: hawser.stateDir, HAWSER_STATE_DIR: "/nowhere" };
		await hawser.run(["login", "dev", url], { input, env });
		const made = await hawser.run(["token", "create", "--on", "dev", "--name", "there"], { env });
		expect(made).toMatchObject({ code: 0, stderr: expect.stringContaining("it is not shown again") });
		expect((await hawser.run(["token", "ls", "--on", "dev"], { env })).stdout).toContain("there");
	});

	it("hawser token accepts a session by name or id, and refuses a missing one", async () => {
		const { stdout } = await hawser.run(["run", "--detach", "--name", "build", "--", "cat"]);
		const id = stdout.trim();
		for (const name of ["build", "bui", id.slice(0, 12), id]) {
			const made = await hawser.run(["token", "create", "--scope", `session:${name}:view`]);
			expect(made.stderr).toContain(`session:${id}:view`);
		}
		expect(await hawser.run(["token", "create", "--scope", "session:biuld:view"])).toMatchObject({
			code: 3,
			stdout: "",
			stderr: expect.stringContaining('did you mean "build"?'),
		});
	});

	it("hawser token reports which of several tokens does not exist, and revokes the others", async () => {
		const [one, other] = [await hawser.run(["token", "create"]), await hawser.run(["token", "create"])];
		const ids = [one, other].map(({ stdout }) => stdout.slice(4, 16));
		const { code, stderr } = await hawser.run(["token", "revoke", ids[0] ?? "", "nonsense", ids[1] ?? ""]);
		expect({ code, stderr }).toEqual({ code: 3, stderr: 'hawser: there is no token "nonsense"\n' });
		const left = JSON.parse((await hawser.run(["token", "ls", "--json"])).stdout) as { id: string }[];
		expect(left.filter(({ id }) => ids.includes(id))).toEqual([]);
	});

	it.each([
		[["create", "--scope", "root"], "is not a scope"],
		[["create", "--expires", "soon"], "--expires"],
		[["revoke"], "missing required argument"],
		[["mend"], "unknown command"],
	])("hawser token refuses %j in one line", async (args, sentence) => {
		const { code, stdout, stderr } = await hawser.run(["token", ...args]);
		expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
		expect(stderr).toContain(sentence);
		expect(stderr.trim().split("\n")).toHaveLength(1);
	});

	it.each(["create", "ls", "revoke"])("%s has help with examples", async (command) => {
		const { code, stdout } = await hawser.run(["token", command, "--help"]);
		expect(code).toBe(0);
		expect(stdout).toContain(`Examples:\n  hawser token ${command}`);
	});
});
