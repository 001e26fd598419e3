/** `hawser serve`: the server in the foreground. */

import { Command } from "commander";
import { type Config, type Environment, type Flags, loadConfig } from "../../server/config.ts";
import { explain } from "../errors.ts";
import { describe, serveUntilInterrupted, toStartError } from "../foreground.ts";
import { print, remark } from "../output.ts";

/** What is wrong with flags for `serve`, wherever it is started; undefined if nothing is. */
export function flagsFault(flags: readonly string[]): string | undefined {
	const { operands, unknown } = serve.parseOptions([...flags]);
	const [stray] = [...unknown, ...operands];
	if (stray !== undefined) return `hawser serve does not know ${JSON.stringify(stray)}`;
	try {
		configOf(serve.opts(), {});
		return undefined;
	} catch (error) {
		return explain(error)?.sentence ?? String(error);
	}
}

/** Commander sets `auth` to true when --no-auth is not given; that is no decision of the user's. */
function configOf(flags: Flags, env?: Environment): Config {
	return loadConfig({ ...flags, auth: flags.auth === false ? false : undefined }, env);
}

export const serve: Command = new Command("serve")
	.summary("start the server")
	.description(
		"Starts the server. It prints one line on stdout once it answers, and runs until it is interrupted.\n" +
			"Every flag can be given as a variable instead: --state-dir as HAWSER_STATE_DIR.",
	)
	.option("--host <address>", "where to listen (default 127.0.0.1)")
	.option("--port <number>", "where to listen; 0 picks a free port (default 7707)")
	.option("--state-dir <dir>", "sessions, journals, tokens (default $XDG_STATE_HOME/hawser)")
	.option(
		"--runtime-dir <dir>",
		"sockets, where the path of the state directory is too long for them (default: run in it)",
	)
	.option("--cwd <dir>", "where programs start that do not say (default: the home directory)")
	.option("--cgroup <dir>", "a control group (v2) of ours, in which programs in sandboxes get theirs for their limits")
	.option("--max-sessions <number>", "how many sessions there may be at once (default 1000)")
	.option("--max-workspace-sessions <number>", "how many of them there may be in one workspace (default 1000)")
	.option("--max-memory <size>", "output kept of each session in memory (default 1MiB)")
	.option("--max-journal <size>", "output kept of each durable session on disk (default 64MiB)")
	.option(
		"--max-disk <size>",
		"what all journals together may take; the oldest ended sessions make room (default 32GiB)",
	)
	.option("--max-audit <size>", "what the record of who did what may take on disk; 0 keeps none (default 64MiB)")
	.option("--spares <number>", "how many keepers wait ready for the next session (default 1)")
	.option("--fsync <when>", "when the disk confirms journals: interval (each second, the default) or always")
	.option("--allowed-hosts <names>", "names under which the server may be asked for, by commas")
	.option("--allowed-origins <origins>", "pages that may use the server from a browser, by commas")
	.option("--tls-cert <file>", "serve https with this certificate")
	.option("--tls-key <file>", "the certificate's key")
	.option("--jwt-key <file>", "also believe JWTs: a public key (RS256, EdDSA) as PEM, or a secret (HS256) as one line")
	.option("--jwt-issuer <text>", "what must be the iss of a JWT")
	.option("--jwt-audience <text>", "what must be the aud of a JWT, or one of them")
	.option(
		"--secret-sources <file>",
		"answer agents' requests for secrets by the sources in this file, where its rules fit",
	)
	.option("--max-attachments <number>", "how many readers one session may have (default 100)")
	.option("--max-connections <number>", "how many connections there may be at once (default 4096)")
	.option("--create-rate <number>", "sessions that one caller may start per second; 0 is no limit (default 20)")
	.option("--behind-proxy", "allow an address that others can reach, because a proxy does TLS")
	.option("--base-path <path>", "where the proxy serves us, such as /tools/hawser, for sign-in links (default /)")
	.option(
		"--multica-grace <duration>",
		"how long a Multica terminal waits for its client to come back; 0 ends it when the client leaves (default 10m)",
	)
	.option("--multica-idle <duration>", "end a Multica terminal after so long without a byte; 0 is never (default 1h)")
	.option("--no-auth", "let in everybody who can reach the port")
	.addHelpText("after", "\nExamples:\n  hawser serve\n  hawser serve --port 0 --state-dir /srv/hawser")
	.action(async (flags: Flags) => {
		const config = configOf(flags);
		// Loaded only here: the other commands need none of it, and start faster without.
		const { startServer } = await import("../../server/server.ts");
		const server = await startServer(config, {
			report: (problem, where) => remark(`${where}: ${describe(problem)}`),
		}).catch((error: unknown) => {
			throw toStartError(error);
		});
		// Before anybody hears of us, and so could end us.
		const over = serveUntilInterrupted(
			server,
			"shutting down; durable sessions keep running, and the next server finds them again",
		);
		await print(`listening on ${server.url}\n`);
		if (server.adopted > 0) remark(`sessions found again: ${server.adopted}`);
		if (config.auth) {
			remark(`the token is in ${config.stateDir}/admin-token; commands of this account find it by themselves`);
		}
		if (server.signInUrl !== undefined)
			remark(`sign in with a browser, once and within 5 minutes: ${server.signInUrl}`);
		await over;
	});
