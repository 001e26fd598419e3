/** `hawser execd`: a drop-in for OpenSandbox execd, with its flags, variables and port. */

import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { isLoopback, loadConfig, stateDirectory } from "../../server/config.ts";
import { duration, wholeNumber } from "../args/values.ts";
import { UsageError } from "../print/errors.ts";
import { print, printNotice } from "../print/output.ts";
import { errorChain, serveUntilSignal, withStartExitCode } from "../serve/foreground.ts";

type Flags = {
	readonly host: string;
	readonly port: number;
	readonly accessToken?: string;
	readonly stateDir?: string;
	readonly jupyterHost?: string;
	readonly allowForeign?: true;
};

export const execd: Command = new Command("execd")
	.summary("run a drop-in for OpenSandbox execd")
	.description(
		"Serves commands, sessions, terminals, files, metrics and /proxy like OpenSandbox execd, with the same " +
			"flags, variables and responses. Terminals and background commands outlive the server: start it again " +
			"with the same port or --state-dir to find them.",
	)
	.option("--host <address>", "address to listen on", "0.0.0.0")
	.option("--port <number>", "port to listen on; 0 picks a free port", wholeNumber, 44_772)
	.option("--access-token <token>", "required X-EXECD-ACCESS-TOKEN (also EXECD_ACCESS_TOKEN)")
	.option("--graceful-shutdown-timeout <duration>", "accepted for compatibility; streams end immediately", duration)
	.option("--log-level <number>", "accepted for compatibility; only errors are logged", wholeNumber)
	.option("--jupyter-host <url>", "accepted for compatibility; /code is not served")
	.option("--jupyter-token <token>", "accepted for compatibility; /code is not served")
	.option("--allow-foreign", "without a token: also answer pages of other origins and requests for other hosts")
	.option("--state-dir <dir>", "directory for sessions and journals (default: execd-PORT in the state directory)")
	.addHelpText(
		"after",
		"\nVariables: EXECD_ACCESS_TOKEN, EXECD_ENVS (a file of KEY=VALUE lines for programs), EXECD_LOG_FILE.\n" +
			"\nExamples:\n  hawser execd --access-token secret\n  hawser execd --host 127.0.0.1 --port 0 --state-dir /srv/execd",
	)
	.action(async (flags: Flags) => {
		const { host, port } = flags;
		if (port > 65_535) throw new UsageError(`--port: expected a number from 0 to 65535, got ${port}`);
		const accessToken = flags.accessToken || process.env.EXECD_ACCESS_TOKEN || undefined;
		const stateDir = flags.stateDir ?? join(stateDirectory({}, process.env), `execd-${port}`);
		// The native API stays on loopback; other commands find it through the state directory.
		const config = loadConfig({ host: "127.0.0.1", port: "0", stateDir });
		const report = createReport(process.env.EXECD_LOG_FILE);
		const { startServer } = await import("../../server/server.ts");
		const { execd: dropIn } = await import("../../server/dropins/opensandbox.ts");
		const server = await startServer(config, {
			report: (problem, where) => report(`${where}: ${errorChain(problem)}`),
			dropIn: dropIn({
				host,
				port,
				accessToken,
				allowForeign: flags.allowForeign === true,
				envFile: process.env.EXECD_ENVS || undefined,
			}),
		}).catch((error: unknown) => {
			throw withStartExitCode(error);
		});
		// Handle signals before printing the address: its reader may send one at once.
		const over = serveUntilSignal(server, "shutting down; terminals and background commands keep running");
		await print(`listening on ${server.dropInUrl}\n`);
		if (server.adopted > 0)
			printNotice(`found ${server.adopted} running ${server.adopted === 1 ? "session" : "sessions"}`);
		if (accessToken === undefined) {
			const who = isLoopback(host) ? "every user of this machine" : "anyone who can reach this port";
			printNotice(`warning: ${who} can run programs as you; require a token with --access-token`);
		}
		if (accessToken === undefined && flags.allowForeign)
			printNotice("warning: any web page open on this machine can run programs, too (--allow-foreign)");
		if (flags.jupyterHost !== undefined) printNotice("--jupyter-host is ignored: /code is not served");
		printNotice(`use --state-dir ${stateDir} in other hawser commands to see these sessions`);
		await over;
	});

/** Writes to the log file that the original uses, or to stderr. */
function createReport(logFile: string | undefined): (message: string) => void {
	if (!logFile) return printNotice;
	const file = createWriteStream(logFile, { flags: "a" });
	file.on("error", () => {});
	return (message) => void file.write(`${new Date().toISOString()} ${message}\n`);
}
