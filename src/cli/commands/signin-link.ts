/** `hawser signin-link`: prints a sign-in link for a browser. */

import { Command } from "commander";
import { findServer, type ServerFlags, withServer } from "../connect/find-server.ts";
import { print, printNotice } from "../print/output.ts";
import { safeLine } from "../print/safe-text.ts";

export const signInLink: Command = withServer(new Command("signin-link"))
	.summary("print a sign-in link for a browser")
	.description(
		"Prints a link that signs in one browser, once, within five minutes. The browser gets the rights of " +
			"your token, so share the link with nobody else; with --token, it gets that token's rights.",
	)
	.addHelpText(
		"after",
		'\nExamples:\n  hawser signin-link\n  xdg-open "$(hawser signin-link)"\n' +
			'  hawser signin-link --token "$(hawser token create --scope workspace:default:read)"',
	)
	.action(async (flags: ServerFlags) => {
		const { client } = await findServer(flags);
		const { url, expiresAt } = await client.signInLinks.create();
		await print(`${safeLine(url)}\n`);
		printNotice(`valid for one browser, until ${new Date(expiresAt).toISOString()}`);
	});
