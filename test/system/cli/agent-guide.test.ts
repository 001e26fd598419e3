import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { main } from "../../support/hawser-command.ts";

const hawser = async (...args: string[]) => (await promisify(execFile)(process.execPath, [main, ...args])).stdout;

it("the agent guide has at most 100 lines and names only commands and options that exist", async () => {
	const guide = await hawser("agent-guide");
	expect(guide.split("\n").length).toBeLessThanOrEqual(100);
	const used = [...guide.matchAll(/^ {4}.*hawser ([a-z]+)(.*)$/gm)];
	expect(used.length).toBeGreaterThan(20);
	// Commands that answer by themselves come before those that have to be combined.
	const firstOf = (wanted: RegExp) => used.findIndex(([line]) => wanted.test(line));
	for (const direct of [/hawser exec /, /hawser commands /, /hawser send .* --wait/]) {
		expect(firstOf(direct)).toBeGreaterThan(0);
		expect(firstOf(direct)).toBeLessThan(firstOf(/--offset|hawser wait/));
	}
	const commands = [...new Set(used.map(([, command = ""]) => command))];
	const helps = new Map(await Promise.all(commands.map(async (one) => [one, await hawser(one, "--help")] as const)));
	for (const [, command = "", rest = ""] of used) {
		expect(helps.get(command)).toContain(`hawser ${command}`);
		// Arguments after -- belong to the program.
		for (const [option] of (rest.split(" -- ")[0] ?? "").matchAll(/--[a-z-]+/g)) {
			expect(helps.get(command)).toContain(option);
		}
	}
});
