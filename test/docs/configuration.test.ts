/** docs/configuration.md names exactly the settings of the server. */

import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { main, result } from "../support/hawser-command.ts";

/** The one flag whose name differs from its variable's. */
const negated = "--no-auth";

it("the configuration page has every flag of serve with its variable and its default, and no other", async () => {
	const { stdout: help } = await result(spawn(process.execPath, [main, "serve", "--help"]));
	const flags = [...help.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, flag = ""]) => flag);
	const page = await readFile(new URL("../../docs/configuration.md", import.meta.url), "utf8");
	const rows = [...page.matchAll(/^\| `(--[a-z-]+)` \| `(\w+)` \| (.*?) \|/gm)];
	expect(rows.map(([, flag]) => flag).sort()).toEqual(flags.sort());
	for (const [, flag = "", variable, value = ""] of rows) {
		const name = flag === negated ? "auth" : flag.slice(2);
		expect(variable).toBe(`HAWSER_${name.toUpperCase().replaceAll("-", "_")}`);
		// Some defaults are described in words on either side.
		const said = new RegExp(`\\s${flag} .*?\\(default ([\\w.]+)\\)`, "s").exec(entry(help, flag))?.[1];
		if (said !== undefined) expect(value, flag).toContain(`\`${said}\``);
	}
});

/** The text of help about one flag. */
function entry(help: string, flag: string): string {
	const [, text = ""] = new RegExp(`^ (?= ${flag} )(.*?)(?=^  -|^$)`, "ms").exec(help) ?? [];
	return text;
}
