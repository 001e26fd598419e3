/** `hawser execd`: a stand-in for OpenSandbox execd, with its flags, its variables and its port. */

import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { isLoopback, loadConfig, stateDirectory } from "../../server/config.ts";
import { UsageError } from "../errors.ts";
import { describe, serveUntilInterrupted, toStartError } from "../foreground.ts";
import { print, remark } from "../output.ts";
import { duration, wholeNumber } from "../parse.ts";

type Flags = {
	readonly host: string;
	readonly port: number;
	readonly accessToken?: string;
	readonly stateDir?: string;
	readonly jupyterHost?: string;
	readonly allowForeign?: true;
};

export const execd: Command = new Command("execd")
	.summary("start a stand-in for OpenSandbox execd")
	.description(
		"Serves commands, sessions, terminals, files, metrics and /proxy as OpenSandbox execd does, with the same flags, " +
			"variables and answers. Terminals and background commands outlive the server: start it again with the " +
			"same port or --state-dir, and they are found again.",
	)
	.option("--host <address>", "where to listen", "0.0.0.0")
	.option("--port <number>", "where to listen; 0 picks a free port", wholeNumber, 44_772)
	.option("--access-token <token>", "what X-EXECD-ACCESS-TOKEN must be (EXECD_ACCESS_TOKEN)")
	.option("--graceful-shutdown-timeout <duration>", "taken for compatibility: streams end at once here", duration)
	.option("--log-level <number>", "taken for compatibility: only what went wrong is logged", wholeNumber)
	.option("--jupyter-host <url>", "taken for compatibility: /code is not served")
	.option("--jupyter-token <token>", "taken for compatibility: /code is not served")
	.option("--allow-foreign", "without a token, answer web pages of others and requests for other hosts, too")
	.option("--state-dir <dir>", "sessions and journals (default: execd-PORT in the state directory of hawser)")
	.addHelpText(
		"after",
		"\nVariables: EXECD_ACCESS_TOKEN, EXECD_ENVS (a file of KEY=VALUE lines for programs), EXECD_LOG_FILE.\n" +
			"\nExamples:\n  hawser execd --access-token secret\n  hawser execd --host 127.0.0.1 --port 0 --state-dir /srv/execd",
	)
	.action(async (flags: Flags) => {
		const { host, port } = flags;
		if (port > 65_535) throw new UsageError(`--port: expected a number from 0 to 65535, not ${port}`);
		const accessToken = flags.accessToken || process.env.EXECD_ACCESS_TOKEN || undefined;
		const stateDir = flags.stateDir ?? join(stateDirectory({}, process.env), `execd-${port}`);
		// The native API stays on loopback, where other commands find it by the state directory.
		const config = loadConfig({ host: "127.0.0.1", port: "0", stateDir });
		const report = createReport(process.env.EXECD_LOG_FILE);
		const { startServer } = await import("../../server/server.ts");
		const { execd: dropIn } = await import("../../server/execd.ts");
		const server = await startServer(config, {
			report: (problem, where) => report(`${where}: ${describe(problem)}`),
			dropIn: dropIn({
				host,
				port,
				accessToken,
				allowForeign: flags.allowForeign === true,
				envFile: process.env.EXECD_ENVS || undefined,
			}),
		}).catch((error: unknown) => {
			throw toStartError(error);
		});
		// Before anybody hears of us, and so could end us.
		const over = serveUntilInterrupted(server, "shutting down; terminals and background commands keep running");
		await print(`listening on ${server.dropInUrl}\n`);
		if (server.adopted > 0) remark(`sessions found again: ${server.adopted}`);
		if (accessToken === undefined) {
			const who = isLoopback(host) ? "every user of this machine" : "anybody who reaches this port";
			remark(`${who} can run programs as you; --access-token, or EXECD_ACCESS_TOKEN, asks for a token`);
		}
		if (accessToken === undefined && flags.allowForeign)
			remark("any web page that somebody here looks at can run programs, too (--allow-foreign)");
		if (flags.jupyterHost !== undefined) remark("code is not served: Jupyter is not asked for anything");
		remark(`other commands find these sessions with --state-dir ${stateDir}`);
		await over;
	});

/** To the file that the original would write to, or to stderr. */
function createReport(logFile: string | undefined): (sentence: string) => void {
	if (!logFile) return remark;
	const file = createWriteStream(logFile, { flags: "a" });
	file.on("error", () => {});
	return (sentence) => void file.write(`${new Date().toISOString()} ${sentence}\n`);
}
