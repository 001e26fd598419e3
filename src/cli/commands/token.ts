/** `hawser token`: makes, lists and revokes tokens. */

import { Command, Option } from "commander";
import { HawserError } from "../../client/index.ts";
import type { CreateToken, GateMessage, SecretRight, TokenMessage } from "../../protocol/access.ts";
import { formatDuration } from "../../protocol/units.ts";
import { UsageError } from "../errors.ts";
import { findServer, type ServerFlags, withServer } from "../find-server.ts";
import { scopeById } from "../find-session.ts";
import { print, remark, table } from "../output.ts";
import { collect, duration } from "../parse.ts";

/** Everything with the sessions of people who never heard of workspaces, and nothing about tokens or the server. */
const DEFAULT_SCOPE = "workspace:default:manage";
const DEFAULT_EXPIRES_MS = 30 * 24 * 3_600_000;

const create = withServer(new Command("create"))
	.summary("make a token")
	.description(
		"Makes a token and prints it on stdout; it can't be shown again. It may do what its scopes say:\n" +
			"  admin                                 everything\n" +
			"  metrics                               the server's numbers, for a program that collects them\n" +
			"  workspace:ID:read|operate|manage      look at, type into, or make and end a workspace's sessions\n" +
			"  session:SESSION:view|control          look at, or type into, one session, named as everywhere",
	)
	.option("--name <name>", "what to call it")
	.option("--scope <scope>", `what it may do; may be given several times (default ${DEFAULT_SCOPE})`, collect)
	.option(
		"--gate <regexp>",
		"hold commands and typed lines in which this matches until somebody approves; several times",
		collect,
	)
	.option("--gate-signals", "hold signals, Ctrl-C too")
	.option("--gate-stops", "hold to end programs, or to delete sessions")
	.option("--gate-all", "hold every command, line, signal and end")
	.option("--gate-keys", "look at what is typed with each key, and not only at Enter")
	.option("--gate-timeout <duration>", "how long something is held before it is refused (default 5m)", duration)
	.option("--expires <duration>", "how long it is good, such as 12h or 30d; 0 is for ever (default 30d)", duration)
	.addOption(
		new Option("--secrets <right>", "where a program reads a secret: type it, or only ask for it, as agents should")
			.choices(["type", "request", "none"])
			.default(undefined, "as the token that makes it"),
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
			scopes: await Promise.all(scope.map((one) => scopeById(client, one))),
			...(name === undefined ? {} : { name }),
			...(expires === 0 ? {} : { expiresInMs: expires }),
			...(secrets === undefined ? {} : { secrets }),
			...(gate ? { gate } : {}),
		});
		await print(`${token}\n`);
		remark(`token ${made.id} may do ${made.scopes.join(", ")}, ${untilWhen(made)}; it is not shown again`);
		if (made.secrets !== "type") remark(`where a program reads a secret it may ${secretRights[made.secrets]}`);
		if (made.gate) remark(`not alone: ${describeGate(made.gate)} (hawser approve)`);
	});

const list = withServer(new Command("ls"))
	.alias("list")
	.summary("list tokens")
	.description("Lists the tokens that you may revoke, without their secrets.")
	.option("--json", "as a JSON array, with everything the server says")
	.addHelpText("after", "\nExamples:\n  hawser token ls\n  hawser token ls --json | jq -r '.[].id'")
	.action(async ({ json, ...flags }: ServerFlags & { json?: true }) => {
		const { client } = await findServer(flags);
		const tokens = await client.tokens.list();
		if (json) return print(`${JSON.stringify(tokens, null, 2)}\n`);
		if (tokens.length === 0) {
			remark("there are no tokens besides the operator's own");
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
		await print(table(["ID", "NAME", "MADE", "USED", "ENDS", "SCOPES", "NOT ALONE"], rows, process.stdout.columns));
	});

const revoke = withServer(new Command("revoke"))
	.summary("end tokens")
	.description("Ends tokens at once, with those they made, the browsers they signed in and all they have open.")
	.argument("<id...>", "ids, as hawser token ls shows them")
	.addHelpText("after", "\nExamples:\n  hawser token revoke 4f0c2a9be1d7")
	.action(async (ids: string[], flags: ServerFlags) => {
		const { client } = await findServer(flags);
		for (const id of ids) {
			try {
				const { isDurable } = await client.tokens.revoke(id);
				if (!isDurable) {
					remark(`token ${id} is over, but not on disk yet: it would be good again after a crash; ask once more`);
					process.exitCode = 1;
				}
			} catch (error) {
				// One that is gone must not keep the others from being revoked.
				if (!(error instanceof HawserError) || error.code !== "not_found") throw error;
				remark(error.message);
				process.exitCode = 3;
			}
		}
	});

export const token: Command = new Command("token")
	.summary("make, list and revoke tokens")
	.description("Tokens are what programs and people show to the server; each may do only what its scopes say.")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser token create --name ci --scope workspace:ci:manage\n  hawser token ls\n" +
			"  hawser token revoke 4f0c2a9be1d7",
	);
for (const part of [create, list, revoke]) token.addCommand(part);

/** Of those that may not do everything. */
const secretRights: Readonly<Record<Exclude<SecretRight, "type">, string>> = {
	request: "not type it, only ask for it (hawser secret)",
	none: "neither type it nor ask for it",
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
		if (gateKeys || gateTimeout !== undefined) throw new UsageError("what is to be held? --gate, or --gate-all");
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
	return expiresAt === null ? "for ever" : `until ${new Date(expiresAt).toISOString()}`;
}
