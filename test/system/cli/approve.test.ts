import { afterAll, beforeAll, expect, it } from "vitest";
import { result, TestHawser } from "../../support/hawser-command.ts";

const SOON = { timeout: 10_000 };

let hawser: TestHawser;
beforeAll(async () => {
	hawser = await TestHawser.create();
});
afterAll(() => hawser.remove());

it("approvals lists a held action, denies it with a note, and grants it once", async () => {
	const create = ["token", "create", "--name", "agent", "--gate", "touch", "--gate-stops", "--secrets", "request"];
	const made = await hawser.run(create);
	expect(made.stderr).toContain('needs approval for: "touch", ends (see hawser approve)');
	expect(made.stderr).toContain("at secret prompts it may only request secrets (hawser secret)");
	const env = { HAWSER_TOKEN: made.stdout.trim() };
	expect((await hawser.run(["token", "ls"])).stdout).toMatch(/GATE\n.*"touch", ends/);
	const session = await hawser.detached("cat", { name: "work" });
	expect((await hawser.run(["approve"])).stderr).toContain("no pending approvals");

	const sending = hawser.start(["send", "work", "touch it", "--enter", "--wait"], env);
	const said: string[] = [];
	sending.stderr?.on("data", (chunk) => said.push(String(chunk)));
	const denied = result(sending);
	await expect
		.poll(() => said.join(""), SOON)
		.toMatch(/waiting for approval \(expires in .*\); approve with: hawser approve a_\w+/);
	expect((await hawser.run(["approve"])).stdout).toMatch(/left\n {4}touch it\n$/);
	expect((await hawser.run(["why", "work"])).stdout).toMatch(/\nwork: .*wants to type.*hawser approve a_.*touch it\n$/);
	const [first] = JSON.parse((await hawser.run(["approve", "--json"])).stdout) as { id: string; kind: string }[];
	expect(first).toMatchObject({ kind: "input", session: { name: "work" } });
	const { id = "" } = first ?? {};
	const denial = await hawser.run(["approve", id.slice(0, 8), "--deny", "--note", "not here"]);
	expect(denial).toMatchObject({
		code: 0,
		stderr: expect.stringContaining("denied: input in work, requested by token:"),
	});
	expect(await denied).toMatchObject({ code: 1, stderr: expect.stringContaining("denied by admin: not here") });

	const killing = result(hawser.start(["kill", "work"], env));
	await expect.poll(async () => (await hawser.run(["approve"])).stdout, SOON).toContain("stop in work");
	const [second] = JSON.parse((await hawser.run(["approve", "--json"])).stdout) as { id: string }[];
	expect((await hawser.run(["approve", second?.id ?? ""], { env })).stderr).toContain("needs approval itself");
	expect(await hawser.run(["approve", second?.id ?? ""])).toMatchObject({ code: 0 });
	expect((await killing).code).toBe(0);
	expect((await hawser.run(["show", session])).stdout).toContain("killed");
});
