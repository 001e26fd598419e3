/** `hawser serve`: runs the server in the foreground. */

import { Command } from "commander";
import { type Config, type Environment, type Flags, loadConfig } from "../../server/config.ts";
import { toUserError } from "../print/errors.ts";
import { print, printNotice } from "../print/output.ts";
import { errorChain, serveUntilSignal, withStartExitCode } from "../serve/foreground.ts";

/** The problem with flags for `serve`; undefined if they are valid. */
export function flagError(flags: readonly string[]): string | undefined {
	const { operands, unknown } = serve.parseOptions([...flags]);
	const [stray] = [...unknown, ...operands];
	if (stray !== undefined) return `hawser serve: unknown argument ${JSON.stringify(stray)}`;
	try {
		configOf(serve.opts(), {});
		return undefined;
	} catch (error) {
		return toUserError(error)?.message ?? String(error);
	}
}

/** Commander sets `auth` to true if --no-auth is missing, which must not override the variable. */
function configOf(flags: Flags, env?: Environment): Config {
	return loadConfig({ ...flags, auth: flags.auth === false ? false : undefined }, env);
}

export const serve: Command = new Command("serve")
	.summary("start the server")
	.description(
		"Starts the server in the foreground. Prints one line to stdout once it accepts connections.\nEvery " +
			"flag has a variable, such as HAWSER_STATE_DIR for --state-dir.",
	)
	.option("--host <address>", "address to listen on (default 127.0.0.1)")
	.option("--port <number>", "port to listen on; 0 picks a free port (default 7707)")
	.option("--state-dir <dir>", "directory for sessions, journals and tokens (default $XDG_STATE_HOME/hawser)")
	.option(
		"--runtime-dir <dir>",
		"directory for sockets, if the state directory's path is too long (default: run, in the state directory)",
	)
	.option("--cwd <dir>", "default working directory of programs (default: the home directory)")
	.option("--cgroup <dir>", "delegated cgroup v2 directory for sandbox resource limits")
	.option("--max-sessions <number>", "maximum running sessions (default 1000)")
	.option("--max-workspace-sessions <number>", "maximum running sessions per workspace (default 1000)")
	.option("--max-memory <size>", "output kept in memory per session (default 1MiB)")
	.option("--max-journal <size>", "output kept on disk per durable session (default 64MiB)")
	.option(
		"--max-disk <size>",
		"disk space for all journals; the oldest ended sessions are deleted first (default 32GiB)",
	)
	.option("--max-audit <size>", "disk space for the audit log; 0 disables it (default 64MiB)")
	.option("--spares <number>", "keepers started ahead of time (default 1)")
	.option("--fsync <when>", "when journals are synced to disk: interval (every second, default) or always")
	.option("--allowed-hosts <names>", "host names that clients may use, comma-separated")
	.option("--allowed-origins <origins>", "origins of web pages that may use the server, comma-separated")
	.option("--tls-cert <file>", "TLS certificate file; enables HTTPS")
	.option("--tls-key <file>", "TLS private key file")
	.option(
		"--jwt-key <file>",
		"also accept JWTs signed with this key: a PEM public key (RS256, EdDSA) or a one-line secret (HS256)",
	)
	.option("--jwt-issuer <text>", "required iss of JWTs")
	.option("--jwt-audience <text>", "required aud of JWTs")
	.option("--secret-sources <file>", "file of secret sources that answer agents' secret requests by rule")
	.option(
		"--agent-rules <dir>",
		"screen rules for coding agents, in addition to the built-in ones (default $XDG_CONFIG_HOME/hawser/agents)",
	)
	.option("--agent-policy <file>", "file of policies that decide about the permission dialogs of coding agents")
	.option("--max-attachments <number>", "maximum readers per session (default 100)")
	.option("--max-connections <number>", "maximum connections (default 4096)")
	.option("--create-rate <number>", "session starts per second and caller; 0 is unlimited (default 20)")
	.option("--behind-proxy", "listen beyond loopback without TLS, because a proxy terminates it")
	.option("--base-path <path>", "path prefix at the proxy, such as /tools/hawser, for sign-in links (default /)")
	.option(
		"--multica-grace <duration>",
		"how long a Multica terminal waits for its client to reconnect; 0 does not wait (default 10m)",
	)
	.option(
		"--multica-idle <duration>",
		"end a Multica terminal after this long without traffic; 0 never does (default 1h)",
	)
	.option("--webhook-link-local", "let webhooks reach link-local addresses and metadata services")
	.option("--no-auth", "accept all callers that can reach the port")
	.addHelpText("after", "\nExamples:\n  hawser serve\n  hawser serve --port 0 --state-dir /srv/hawser")
	.action(async (flags: Flags) => {
		const config = configOf(flags);
		// Imported here so that other commands start faster.
		const { startServer } = await import("../../server/server.ts");
		const server = await startServer(config, {
			report: (problem, where) => printNotice(`${where}: ${errorChain(problem)}`),
		}).catch((error: unknown) => {
			throw withStartExitCode(error);
		});
		// Handle signals before printing the address: its reader may send one at once.
		const over = serveUntilSignal(
			server,
			"shutting down; durable sessions keep running, and the next server will find them",
		);
		await print(`listening on ${server.url}\n`);
		if (server.adopted > 0)
			printNotice(`found ${server.adopted} running ${server.adopted === 1 ? "session" : "sessions"}`);
		if (config.auth) {
			printNotice(`admin token: ${config.stateDir}/admin-token (hawser commands of this account use it automatically)`);
		}
		if (server.signInUrl !== undefined)
			printNotice(`sign in with a browser (valid once, for 5 minutes): ${server.signInUrl}`);
		await over;
	});
