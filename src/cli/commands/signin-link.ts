/** `hawser signin-link`: a link that lets a browser in. */

import { Command } from "commander";
import { findServer, type ServerFlags, withServer } from "../find-server.ts";
import { print, remark } from "../output.ts";
import { safeLine } from "../safe-text.ts";

export const signInLink: Command = withServer(new Command("signin-link"))
	.summary("print a link that signs in a browser")
	.description(
		"Prints a link on stdout that signs in one browser, once and within five minutes. The browser may then do what your " +
			"token may, so send it to nobody else; with --token it is worth what that one is.",
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
		remark(`open it in one browser, until ${new Date(expiresAt).toISOString()}`);
	});
