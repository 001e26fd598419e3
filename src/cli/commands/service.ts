/** `hawser service`: the server as a service of yours, started by systemd. */

import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { reasonOf, UsageError } from "../errors.ts";
import { print, remark } from "../output.ts";
import { main, SECOND_SERVER } from "../start-server.ts";
import { flagsFault } from "./serve.ts";

const UNIT = "hawser.service";

function unitFolder(env: NodeJS.ProcessEnv): string {
	return join(env.XDG_CONFIG_HOME || join(homedir(), ".config"), "systemd", "user");
}

/**
 * A restart leaves keepers, and so sessions, alone: only the server itself is ended, and no program's death ends it.
 * The files are enough for all the connections and sessions that there may be by default.
 */
export function unit(serveFlags: readonly string[]): string {
	return `[Unit]
Description=Hawser, interactive processes that outlive their connections

[Service]
Type=exec
ExecStart=${[process.execPath, main, "serve", ...serveFlags].map(quoted).join(" ")}
KillMode=process
OOMPolicy=continue
Restart=on-failure
RestartSec=1
RestartPreventExitStatus=${SECOND_SERVER}
LimitNOFILE=65536

[Install]
WantedBy=default.target
`;
}

/** As systemd reads a command: quotes, and what stands for something else in it. */
function quoted(word: string): string {
	const plain = word.replaceAll("%", "%%").replaceAll("$", "$$$$");
	return /^[\w@%+=:,./$-]+$/.test(plain) ? plain : `"${plain.replace(/[\\"]/g, "\\$&").replaceAll("\n", "\\n")}"`;
}

const install = new Command("install")
	.summary("make the server a service of systemd")
	.description(
		"Writes a unit for systemd's manager of your account, with the Node.js and the Hawser that run now, and says how " +
			"to start it. Restarting the service ends the server alone: sessions keep running.",
	)
	.argument("[flags...]", "flags for hawser serve, which the service starts")
	.allowUnknownOption()
	.option("--print", "print the unit instead of writing it")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser service install\n  hawser service install --port 8800\n  hawser service install --print",
	)
	.action(async (flags: string[], options: { print?: true }) => {
		const fault = flagsFault(flags);
		if (fault !== undefined) throw new UsageError(`the service could not start: ${fault}`);
		if (options.print) return print(unit(flags));
		const folder = unitFolder(process.env);
		await mkdir(folder, { recursive: true });
		await write(join(folder, UNIT), unit(flags));
		remark(
			"start it now and at every login with: systemctl --user daemon-reload && systemctl --user enable --now hawser",
		);
		remark("for it to run while you are not logged in: loginctl enable-linger");
	});

/** What was there may have been written by hand, so it is kept. */
async function write(path: string, text: string): Promise<void> {
	const before = await readFile(path, "utf8").catch(() => undefined);
	if (before === text) return remark(`${path} is there already`);
	if (before !== undefined) await rename(path, `${path}.old`);
	await writeFile(path, text);
	remark(before === undefined ? `wrote ${path}` : `wrote ${path}; what was there is now ${path}.old`);
}

const uninstall = new Command("uninstall")
	.summary("take the service away")
	.description("Removes the unit. A server that runs keeps running until hawser stop or systemctl --user stop hawser.")
	.addHelpText("after", "\nExamples:\n  systemctl --user disable --now hawser; hawser service uninstall")
	.action(async () => {
		const path = join(unitFolder(process.env), UNIT);
		try {
			await rm(path);
		} catch (error) {
			if (reasonOf(error) !== "ENOENT") throw error;
			return remark(`there is no ${path}`);
		}
		remark(`removed ${path}; systemctl --user daemon-reload makes systemd forget it`);
	});

export const service: Command = new Command("service")
	.summary("let systemd run the server")
	.description("The server as a service of your account, which systemd starts and restarts.")
	.addHelpText("after", "\nExamples:\n  hawser service install\n  hawser service uninstall");
for (const part of [install, uninstall]) service.addCommand(part);
