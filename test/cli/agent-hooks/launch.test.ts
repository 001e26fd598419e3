import { mkdir } from "node:fs/promises";
import { expect, test } from "vitest";
import { hookedAgent } from "../../../src/cli/agent-hooks/agents.ts";
import { planInstall } from "../../../src/cli/agent-hooks/installation.ts";
import { launchWithHooks } from "../../../src/cli/agent-hooks/launch.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

const env = async () => ({ HOME: await temporaryDirectory() });

test("flags follow the program, which is the agent's own if none is given", async () => {
	const { source } = hookedAgent("claude");
	const claude = async (...argv: string[]) => (await launchWithHooks("claude", argv, await env())).argv;
	expect(await claude()).toEqual(["claude", "--settings", source]);
	expect(await claude("--continue")).toEqual(["claude", "--settings", source, "--continue"]);
	expect(await claude("/opt/claude", "fix it")).toEqual(["/opt/claude", "--settings", source, "fix it"]);
	const copilot = await launchWithHooks("copilot", ["copilot"], await env());
	expect(copilot.argv).toEqual(["copilot", "--plugin-dir", expect.stringMatching(/agents\/copilot$/)]);
});

test("Codex gets its hooks as configuration in TOML", async () => {
	const { argv } = await launchWithHooks("codex", ["codex", "resume"], await env());
	expect(argv.at(-1)).toBe("resume");
	expect(argv).toContain(
		`hooks.Stop=[{hooks=[{type="command",command="[ -x \\"$HAWSER_HOOK\\" ] && \\"$HAWSER_HOOK\\" Stop || :",timeout=5}]}]`,
	);
});

test("opencode gets its plugin beside those of the user", async () => {
	const own = JSON.stringify({ model: "x", plugin: ["mine"] });
	const { env: added } = await launchWithHooks("opencode", [], { ...(await env()), OPENCODE_CONFIG_CONTENT: own });
	expect(JSON.parse(added.OPENCODE_CONFIG_CONTENT ?? "")).toEqual({
		model: "x",
		plugin: ["mine", `file://${hookedAgent("opencode").source}`],
	});
});

test("an agent that can't take hooks at its start is refused, with what would work", async () => {
	await expect(launchWithHooks("gemini", [], await env())).rejects.toThrow(/hawser agent install gemini/);
	await expect(launchWithHooks("claude", ["claude", "--settings=x"], await env())).rejects.toThrow(
		/agent install claude/,
	);
	await expect(launchWithHooks("codex", ["npx", "codex"], await env())).rejects.toThrow(/needs the command codex/);
	const broken = { ...(await env()), OPENCODE_CONFIG_CONTENT: "{" };
	await expect(launchWithHooks("opencode", [], broken)).rejects.toThrow(/not JSON/);
});

test("installed hooks are not passed twice", async () => {
	const own = await env();
	const agent = hookedAgent("gemini", own);
	await mkdir(agent.home, { recursive: true });
	await (await planInstall(agent))?.apply();
	expect(await launchWithHooks("gemini", ["gemini", "-m", "x"], own)).toEqual({ argv: ["gemini", "-m", "x"], env: {} });
});
