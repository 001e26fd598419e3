/** `hawser login`, `logout` and `remotes`: saved servers. */

import { text } from "node:stream/consumers";
import { Command } from "commander";
import { connect } from "../../client/index.ts";
import { parseUrl } from "../../client/node/locate.ts";
import { findRemote, readRemotes, setRemote } from "../connect/remotes.ts";
import { withHealthChecks } from "../connect/server-health.ts";
import { UsageError } from "../print/errors.ts";
import { print, printNotice, table } from "../print/output.ts";
import { safeJson } from "../print/safe-text.ts";
import { promptHidden } from "../terminal/prompt-hidden.ts";

export const login: Command = new Command("login")
	.summary("save a remote server under a name")
	.description(
		"Reads a token from a hidden prompt or stdin, checks it, and stores it with the URL in a file that " +
			"only you can read. After that, --on NAME makes any command use that server.",
	)
	.argument("<name>", "name for the server: letters, digits, _ . -")
	.argument("<url>", "server URL, such as https://dev.example.org:7707")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser login dev https://dev.example.org:7707\n  hawser login ci https://ci.example.org < token.txt\n" +
			"  hawser ls --on dev",
	)
	.action(async (name: string, address: string) => {
		if (!/^[A-Za-z0-9_.-]{1,64}$/.test(name)) throw new UsageError("invalid name; use 1 to 64 of A-Z, a-z, 0-9, _ . -");
		const url = parseUrl(address);
		if (url.startsWith("http:") && !/^http:\/\/(localhost|127\.|\[::1\])/.test(url))
			printNotice("warning: not https; the token can be intercepted");
		const token = (process.stdin.isTTY ? await promptHidden("Token: ") : await text(process.stdin)).trim();
		if (token === "") throw new UsageError("missing token; create one on the server with hawser token create");
		const { version } = await connect({ ...withHealthChecks({ url, token, mustProve: false }) }).info();
		await setRemote(name, { url, token });
		printNotice(`saved ${name}: ${url} (version ${version}); use it with --on ${name}`);
	});

export const logout: Command = new Command("logout")
	.summary("remove a saved server")
	.description(
		"Removes a saved server and its token from this machine. The token stays valid until hawser token revoke.",
	)
	.argument("<name>", "name, as shown by hawser remotes")
	.addHelpText("after", "\nExamples:\n  hawser logout dev")
	.action(async (name: string) => {
		await findRemote(name);
		await setRemote(name, undefined);
	});

export const remotes: Command = new Command("remotes")
	.summary("list saved servers")
	.description("Lists the servers saved by hawser login, without their tokens.")
	.option("--json", "print as a JSON array")
	.addHelpText("after", "\nExamples:\n  hawser remotes\n  hawser remotes --json | jq -r '.[].name'")
	.action(async ({ json }: { json?: true }) => {
		const known = Object.entries(await readRemotes()).map(([name, { url }]) => ({ name, url }));
		if (json) return print(`${safeJson(known)}\n`);
		if (known.length === 0) {
			printNotice("no saved servers; add one with hawser login NAME URL");
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
