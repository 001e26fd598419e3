/** `hawser token`: creates, lists and revokes tokens. */

import { Command, Option } from "commander";
import type { CreateToken, GateMessage, SecretRight, TokenMessage } from "../../api/types.ts";
import { HawserError } from "../../client/index.ts";
import { formatDuration } from "../../words/units.ts";
import { collect, duration } from "../args/values.ts";
import { findServer, type ServerFlags, withServer } from "../connect/find-server.ts";
import { resolveScope } from "../connect/find-session.ts";
import { UsageError } from "../print/errors.ts";
import { print, printNotice, table } from "../print/output.ts";

/** Full rights on sessions of the default workspace; none on tokens or the server. */
const DEFAULT_SCOPE = "workspace:default:manage";
const DEFAULT_EXPIRES_MS = 30 * 24 * 3_600_000;

const create = withServer(new Command("create"))
	.summary("create a token")
	.description(
		"Creates a token and prints it to stdout. It cannot be shown again. Scopes:\n" +
			"  admin                                 everything\n" +
			"  metrics                               read server metrics\n" +
			"  workspace:ID:read|operate|manage      view, type into, or create and end a workspace's sessions\n" +
			"  session:SESSION:view|control          view or type into one session (ID, name or prefix)",
	)
	.option("--name <name>", "display name")
	.option("--scope <scope>", `scope; repeatable (default ${DEFAULT_SCOPE})`, collect)
	.option("--gate <regexp>", "hold commands and input lines that match until approved; repeatable", collect)
	.option("--gate-signals", "hold signals, including Ctrl-C")
	.option("--gate-stops", "hold requests to end programs or delete sessions")
	.option("--gate-all", "hold all commands, input lines, signals and ends")
	.option("--gate-keys", "check input after every key, not only at Enter")
	.option("--gate-timeout <duration>", "how long an action is held before it expires (default 5m)", duration)
	.option("--expires <duration>", "lifetime, such as 12h or 30d; 0 never expires (default 30d)", duration)
	.addOption(
		new Option("--secrets <right>", "at a secret prompt: type secrets, only request them (for agents), or neither")
			.choices(["type", "request", "none"])
			.default(undefined, "that of the creating token"),
	)
	.addHelpText(
		"after",
		"\nExamples:\n  hawser token create --name ci --scope workspace:ci:manage --expires 90d\n" +
			"  hawser token create --scope session:build:view --expires 1h\n" +
			"  hawser token create --name agent --gate 'rm -rf' --gate 'git push' --gate-stops --secrets request",
	)
	.action(async (options: CreateFlags) => {
		const { name, scope = [DEFAULT_SCOPE], expires = DEFAULT_EXPIRES_MS, secrets, ...flags } = options;
		const gate = gateOf(options);
		const { client } = await findServer(flags);
		const { token, ...made } = await client.tokens.create({
			scopes: await Promise.all(scope.map((one) => resolveScope(client, one))),
			...(name === undefined ? {} : { name }),
			...(expires === 0 ? {} : { expiresInMs: expires }),
			...(secrets === undefined ? {} : { secrets }),
			...(gate ? { gate } : {}),
		});
		await print(`${token}\n`);
		printNotice(`created token ${made.id} (${made.scopes.join(", ")}), ${untilWhen(made)}; it is not shown again`);
		if (made.secrets !== "type") printNotice(`at secret prompts it may ${secretRights[made.secrets]}`);
		if (made.gate) printNotice(`needs approval for: ${describeGate(made.gate)} (see hawser approve)`);
	});

const list = withServer(new Command("ls"))
	.alias("list")
	.summary("list tokens")
	.description("Lists the tokens that you may revoke, without their secrets.")
	.option("--json", "print as a JSON array, with all fields")
	.addHelpText("after", "\nExamples:\n  hawser token ls\n  hawser token ls --json | jq -r '.[].id'")
	.action(async ({ json, ...flags }: ServerFlags & { json?: true }) => {
		const { client } = await findServer(flags);
		const tokens = await client.tokens.list();
		if (json) return print(`${JSON.stringify(tokens, null, 2)}\n`);
		if (tokens.length === 0) {
			printNotice("no tokens except the admin token");
			return;
		}
		const now = Date.now();
		const ago = (time: number | null) => (time === null ? "never" : `${formatDuration(now - time)} ago`);
		const rows = tokens.map((token) => [
			token.id,
			token.name ?? "-",
			ago(token.createdAt),
			ago(token.lastUsedAt),
			token.expiresAt === null ? "never" : `in ${formatDuration(token.expiresAt - now)}`,
			token.scopes.join(" "),
			token.gate ? describeGate(token.gate) : "",
		]);
		await print(
			table(["ID", "NAME", "CREATED", "LAST USED", "EXPIRES", "SCOPES", "GATE"], rows, process.stdout.columns),
		);
	});

const revoke = withServer(new Command("revoke"))
	.summary("revoke tokens")
	.description(
		"Revokes tokens immediately, with all tokens they created, browsers they signed in and connections they opened.",
	)
	.argument("<id...>", "token IDs, as shown by hawser token ls")
	.addHelpText("after", "\nExamples:\n  hawser token revoke 4f0c2a9be1d7")
	.action(async (ids: string[], flags: ServerFlags) => {
		const { client } = await findServer(flags);
		for (const id of ids) {
			try {
				const { isDurable } = await client.tokens.revoke(id);
				if (!isDurable) {
					printNotice(
						`revoked token ${id}, but could not save that to disk; it would be valid again after a crash; retry`,
					);
					process.exitCode = 1;
				}
			} catch (error) {
				// A missing token must not keep the others from being revoked.
				if (!(error instanceof HawserError) || error.code !== "not_found") throw error;
				printNotice(error.message);
				process.exitCode = 3;
			}
		}
	});

export const token: Command = new Command("token")
	.summary("manage tokens")
	.description("Tokens authenticate programs and people. A token can do only what its scopes allow.")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser token create --name ci --scope workspace:ci:manage\n  hawser token ls\n" +
			"  hawser token revoke 4f0c2a9be1d7",
	);
for (const part of [create, list, revoke]) token.addCommand(part);

const secretRights: Readonly<Record<Exclude<SecretRight, "type">, string>> = {
	request: "only request secrets (hawser secret)",
	none: "not use secrets",
};

type CreateFlags = ServerFlags &
	GateFlags & { name?: string; scope?: string[]; expires?: number; secrets?: SecretRight };

type GateFlags = {
	readonly gate?: readonly string[];
	readonly gateSignals?: true;
	readonly gateStops?: true;
	readonly gateAll?: true;
	readonly gateKeys?: true;
	readonly gateTimeout?: number;
};

/** Matches every line. */
const EVERYTHING = "^";

function gateOf(flags: GateFlags): CreateToken["gate"] {
	const { gate = [], gateSignals, gateStops, gateAll = false, gateKeys, gateTimeout } = flags;
	const isWanted = gateAll || gate.length > 0 || gateSignals || gateStops;
	if (!isWanted) {
		if (gateKeys || gateTimeout !== undefined)
			throw new UsageError("--gate-keys and --gate-timeout need --gate, --gate-signals, --gate-stops or --gate-all");
		return undefined;
	}
	return {
		match: gateAll ? [EVERYTHING] : [...gate],
		keys: gateKeys ? "all" : "enter",
		signals: gateAll || gateSignals === true,
		stops: gateAll || gateStops === true,
		...(gateTimeout === undefined ? {} : { timeoutMs: gateTimeout }),
	};
}

function describeGate({ match, keys, signals, stops }: GateMessage): string {
	const lines = keys === "all" ? "keys" : "lines";
	const matching = match.includes(EVERYTHING) ? `all ${lines}` : match.map((one) => JSON.stringify(one)).join(" ");
	return [matching, ...(signals ? ["signals"] : []), ...(stops ? ["ends"] : [])]
		.filter((part) => part !== "")
		.join(", ");
}

function untilWhen({ expiresAt }: Pick<TokenMessage, "expiresAt">): string {
	return expiresAt === null ? "without expiry" : `valid until ${new Date(expiresAt).toISOString()}`;
}
