/** `hawser login`, `logout` and `remotes`: servers on other machines, by names of your own. */

import { text } from "node:stream/consumers";
import { Command } from "commander";
import { connect } from "../../client/index.ts";
import { parseUrl } from "../../local/locate.ts";
import { askHidden } from "../ask-hidden.ts";
import { UsageError } from "../errors.ts";
import { print, remark, table } from "../output.ts";
import { findRemote, readRemotes, setRemote } from "../remotes.ts";
import { safeJson } from "../safe-text.ts";
import { watched } from "../server-health.ts";

export const login: Command = new Command("login")
	.summary("give a server on another machine a name")
	.description(
		"Asks for a token, without showing it, or reads it from stdin; tries it, and keeps it with the address where only " +
			"you can read it. From then on --on NAME makes any command use that server.",
	)
	.argument("<name>", "what to call it: letters, digits, _ . -")
	.argument("<url>", "where it is, such as https://dev.example.org:7707")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser login dev https://dev.example.org:7707\n  hawser login ci https://ci.example.org < token.txt\n" +
			"  hawser ls --on dev",
	)
	.action(async (name: string, address: string) => {
		if (!/^[A-Za-z0-9_.-]{1,64}$/.test(name)) throw new UsageError("a name has 1 to 64 of A-Z, a-z, 0-9, _ . -");
		const url = parseUrl(address);
		if (url.startsWith("http:") && !/^http:\/\/(localhost|127\.|\[::1\])/.test(url))
			remark("this address is not https: whoever is on the way can read the token");
		const token = (process.stdin.isTTY ? await askHidden("Token: ") : await text(process.stdin)).trim();
		if (token === "") throw new UsageError("no token was given; hawser token create makes one, where the server is");
		const { version } = await connect({ ...watched({ url, token, mustProve: false }) }).info();
		await setRemote(name, { url, token });
		remark(`${name} is ${url} (version ${version}); use it with --on ${name}`);
	});

export const logout: Command = new Command("logout")
	.summary("forget a server on another machine")
	.description("Forgets a name, its address and its token here. The token stays valid: hawser token revoke ends it.")
	.argument("<name>", "as hawser remotes shows it")
	.addHelpText("after", "\nExamples:\n  hawser logout dev")
	.action(async (name: string) => {
		await findRemote(name);
		await setRemote(name, undefined);
	});

export const remotes: Command = new Command("remotes")
	.summary("list servers on other machines")
	.description("Lists the servers that hawser login gave names to, without their tokens.")
	.option("--json", "as a JSON array")
	.addHelpText("after", "\nExamples:\n  hawser remotes\n  hawser remotes --json | jq -r '.[].name'")
	.action(async ({ json }: { json?: true }) => {
		const known = Object.entries(await readRemotes()).map(([name, { url }]) => ({ name, url }));
		if (json) return print(`${safeJson(known)}\n`);
		if (known.length === 0) {
			remark("there are none; hawser login NAME URL adds one");
			return;
		}
		await print(
			table(
				["NAME", "URL"],
				known.map(({ name, url }) => [name, url]),
				process.stdout.columns,
			),
		);
	});
