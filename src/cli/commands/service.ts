/** `hawser service`: installs the server as a systemd user service. */

import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { cliPath, EXIT_ALREADY_RUNNING } from "../connect/start-server.ts";
import { errorCode, UsageError } from "../print/errors.ts";
import { print, printNotice } from "../print/output.ts";
import { flagError } from "./serve.ts";

const UNIT = "hawser.service";

function unitFolder(env: NodeJS.ProcessEnv): string {
	return join(env.XDG_CONFIG_HOME || join(homedir(), ".config"), "systemd", "user");
}

/**
 * A restart ends only the server, not the keepers and their sessions. An out-of-memory kill of a program does not end
 * the server. The file limit covers the default maximum of connections and sessions.
 */
export function unit(serveFlags: readonly string[]): string {
	return `[Unit]
Description=Hawser, interactive processes that outlive their connections

[Service]
Type=exec
ExecStart=${[process.execPath, cliPath, "serve", ...serveFlags].map(quoted).join(" ")}
KillMode=process
OOMPolicy=continue
Restart=on-failure
RestartSec=1
RestartPreventExitStatus=${EXIT_ALREADY_RUNNING}
LimitNOFILE=65536

[Install]
WantedBy=default.target
`;
}

/** Quotes a word for systemd, which expands % and $. */
function quoted(word: string): string {
	const plain = word.replaceAll("%", "%%").replaceAll("$", "$$$$");
	return /^[\w@%+=:,./$-]+$/.test(plain) ? plain : `"${plain.replace(/[\\"]/g, "\\$&").replaceAll("\n", "\\n")}"`;
}

const install = new Command("install")
	.summary("install the systemd user service")
	.description(
		"Writes a systemd user unit for this Node.js and this Hawser, and prints the commands that start it. " +
			"Restarting the service restarts only the server; sessions keep running.",
	)
	.argument("[flags...]", "flags for hawser serve")
	.allowUnknownOption()
	.option("--print", "print the unit instead of writing it")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser service install\n  hawser service install --port 8800\n  hawser service install --print",
	)
	.action(async (flags: string[], options: { print?: true }) => {
		const fault = flagError(flags);
		if (fault !== undefined) throw new UsageError(`invalid flags for hawser serve: ${fault}`);
		if (options.print) return print(unit(flags));
		const folder = unitFolder(process.env);
		await mkdir(folder, { recursive: true });
		await write(join(folder, UNIT), unit(flags));
		printNotice(
			"start it now and at every login with: systemctl --user daemon-reload && systemctl --user enable --now hawser",
		);
		printNotice("to run it while you are logged out: loginctl enable-linger");
	});

/** Keeps an existing file, which may have been written by hand. */
async function write(path: string, text: string): Promise<void> {
	const before = await readFile(path, "utf8").catch(() => undefined);
	if (before === text) return printNotice(`${path} is up to date`);
	if (before !== undefined) await rename(path, `${path}.old`);
	await writeFile(path, text);
	printNotice(before === undefined ? `wrote ${path}` : `wrote ${path} (previous file saved as ${path}.old)`);
}

const uninstall = new Command("uninstall")
	.summary("remove the systemd user service")
	.description("Removes the unit. A running server keeps running until hawser stop or systemctl --user stop hawser.")
	.addHelpText("after", "\nExamples:\n  systemctl --user disable --now hawser; hawser service uninstall")
	.action(async () => {
		const path = join(unitFolder(process.env), UNIT);
		try {
			await rm(path);
		} catch (error) {
			if (errorCode(error) !== "ENOENT") throw error;
			return printNotice(`${path} does not exist`);
		}
		printNotice(`removed ${path}; run systemctl --user daemon-reload`);
	});

export const service: Command = new Command("service")
	.summary("run the server under systemd")
	.description("Manages a systemd user service that starts and restarts the server.")
	.addHelpText("after", "\nExamples:\n  hawser service install\n  hawser service uninstall");
for (const part of [install, uninstall]) service.addCommand(part);
