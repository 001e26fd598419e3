import { chmod, mkdir, readdir, readFile, readlink, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type AgentName, agentNames, entriesFor, hookedAgent } from "../../../src/cli/agent-hooks/agents.ts";
import { installState, planInstall, planRemove } from "../../../src/cli/agent-hooks/installation.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

const SETTINGS = '{\n\t// mine\n\t"model": "opus", /* best */\n\t"hooks": { "Stop": [] },\n}\n';
const shared: AgentName[] = ["claude", "codex", "gemini"];
const alone: AgentName[] = ["opencode", "copilot"];

/** An agent that has been started once in a home of its own, with this configuration. */
async function agentWith(name: AgentName, text?: string) {
	const agent = hookedAgent(name, { HOME: await temporaryDirectory() });
	await mkdir(agent.home, { recursive: true });
	if (text !== undefined) await writeFile(agent.target, text, { mode: 0o640 });
	return agent;
}

const textOf = (path: string) => readFile(path, "utf8");

test.each(shared)(
	"an installation for %s keeps a backup and the mode, and its removal restores every byte",
	async (name) => {
		const agent = await agentWith(name, SETTINGS);
		await chmod(agent.target, 0o640);
		const change = await planInstall(agent);
		expect(change).toMatchObject({ path: agent.target, before: SETTINGS, backup: `${agent.target}.before-hawser` });
		expect(await textOf(agent.target)).toBe(SETTINGS);
		await change?.apply();
		expect(await textOf(agent.target)).toBe(change?.after);
		expect(await textOf(`${agent.target}.before-hawser`)).toBe(SETTINGS);
		expect((await stat(agent.target)).mode & 0o777).toBe(0o640);
		expect(await installState(agent)).toBe("installed");
		expect(await planInstall(agent)).toBeUndefined();
		await (await planRemove(agent))?.apply();
		expect(await textOf(agent.target)).toBe(SETTINGS);
		expect((await stat(agent.target)).mode & 0o777).toBe(0o640);
		expect(await readdir(agent.home)).toEqual([agent.target.slice(agent.home.length + 1)]);
		expect(await planRemove(agent)).toBeUndefined();
	},
);

test.each(agentNames)("without a file of %s, one is created and removed again", async (name) => {
	const agent = await agentWith(name);
	await (await planInstall(agent))?.apply();
	expect((await stat(agent.target)).mode & 0o777).toBe(0o600);
	expect(await installState(agent)).toBe("installed");
	await (await planRemove(agent))?.apply();
	expect(await readdir(agent.home)).toEqual([]);
});

test("what the user changes after the installation stays, and so does an empty file", async () => {
	const agent = await agentWith("claude", SETTINGS);
	await (await planInstall(agent))?.apply();
	await writeFile(agent.target, (await textOf(agent.target)).replace("opus", "sonnet"));
	await (await planRemove(agent))?.apply();
	expect(await textOf(agent.target)).toContain('"model": "sonnet", /* best */');
	expect(await textOf(agent.target)).not.toContain("HAWSER");
	const empty = await agentWith("gemini", "");
	await (await planInstall(empty))?.apply();
	await (await planRemove(empty))?.apply();
	expect(await textOf(empty.target)).toBe("");
});

test("entries of another version are replaced, and the removal still restores the first file", async () => {
	const agent = await agentWith("claude", SETTINGS);
	await (await planInstall(agent))?.apply();
	const older = (await textOf(agent.target)).replaceAll('"timeout": 5', '"timeout": 9');
	await writeFile(agent.target, older);
	expect(await installState(agent)).toBe("outdated");
	await (await planInstall(agent))?.apply();
	expect(await installState(agent)).toBe("installed");
	await (await planRemove(agent))?.apply();
	expect(await textOf(agent.target)).toBe(SETTINGS);
});

test("a link stays a link, and the file behind it is changed", async () => {
	const agent = await agentWith("claude");
	const dotfiles = await temporaryDirectory();
	await writeFile(join(dotfiles, "claude.json"), SETTINGS);
	await symlink(join(dotfiles, "claude.json"), agent.target);
	await (await planInstall(agent))?.apply();
	expect(await readlink(agent.target)).toBe(join(dotfiles, "claude.json"));
	expect((await readdir(dotfiles)).sort()).toEqual(["claude.json", "claude.json.before-hawser"]);
	await (await planRemove(agent))?.apply();
	expect(await textOf(join(dotfiles, "claude.json"))).toBe(SETTINGS);
});

test("a file that can't be edited safely is refused and left as it is", async () => {
	const broken = await agentWith("gemini", '{\n  "model": \n}');
	await expect(planInstall(broken)).rejects.toThrow(/settings\.json was left as it is, since line 3 is not valid JSON/);
	expect(await textOf(broken.target)).toBe('{\n  "model": \n}');
	const folder = await agentWith("claude");
	await mkdir(folder.target);
	await expect(planInstall(folder)).rejects.toThrow(/not a regular file/);
	const dangling = await agentWith("claude");
	await symlink("/nowhere/settings.json", dangling.target);
	await expect(planInstall(dangling)).rejects.toThrow(/link to a file that does not exist/);
	const latin = await agentWith("claude");
	await writeFile(latin.target, Buffer.from('{"a":"\u00e9"}', "latin1"));
	await expect(planInstall(latin)).rejects.toThrow(/not UTF-8/);
	const missing = hookedAgent("claude", { HOME: await temporaryDirectory() });
	await expect(planInstall(missing)).rejects.toThrow(/start claude once/);
});

test.each(alone)("a file of the user in place of ours for %s is refused", async (name) => {
	const agent = await agentWith(name);
	await (await planInstall(agent))?.apply();
	await writeFile(agent.target, "mine");
	expect(await installState(agent)).toBe("own");
	await expect(planInstall(agent)).rejects.toThrow(/was not written by hawser/);
	expect(await planRemove(agent)).toBeUndefined();
});

test("a change between the plan and the writing is refused", async () => {
	const agent = await agentWith("claude", SETTINGS);
	const change = await planInstall(agent);
	await writeFile(agent.target, "{}");
	await expect(change?.apply()).rejects.toThrow(/has just been changed/);
	expect(await textOf(agent.target)).toBe("{}");
});

test("each agent's own variable names its directory", () => {
	const env = { HOME: "/h", CLAUDE_CONFIG_DIR: "/c", CODEX_HOME: "/x", COPILOT_HOME: "/p", XDG_CONFIG_HOME: "/g" };
	expect(agentNames.map((name) => hookedAgent(name, env).target)).toEqual([
		"/c/settings.json",
		"/x/hooks.json",
		"/h/.gemini/settings.json",
		"/g/opencode/plugins/hawser.js",
		"/p/hooks/hawser.json",
	]);
});

test("no hook can decide for an agent: each one ends well, whatever happens, and prints nothing", async () => {
	for (const name of shared) {
		for (const [event, groups] of Object.entries(await entriesFor(hookedAgent(name)))) {
			expect(JSON.stringify(groups), event).toContain(`[ -x \\"$HAWSER_HOOK\\" ] && \\"$HAWSER_HOOK\\" ${event} || :`);
		}
	}
});
