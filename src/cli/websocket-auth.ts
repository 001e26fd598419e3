/** The flags by which a drop-in of Codex is told how clients of its WebSocket show who they are. */

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { ExecAddress } from "../server/exec-server.ts";
import { UsageError } from "./errors.ts";

export type WebSocketAuthFlags = {
	readonly wsAuth?: "capability-token" | "signed-bearer-token";
	readonly wsTokenFile?: string;
	readonly wsTokenSha256?: string;
	readonly wsSharedSecretFile?: string;
	readonly wsIssuer?: string;
	readonly wsAudience?: string;
	readonly wsMaxClockSkewSeconds?: number;
};

type WebSocketAuth = NonNullable<ExecAddress["auth"]>;

/** As with Codex: clocks of machines that are kept in time differ by less. */
const DEFAULT_CLOCK_SKEW_SECONDS = 30;
/** What HS256 needs, so that a secret is not easier to guess than a signature. */
const MIN_SECRET_BYTES = 32;

export function addWebSocketAuthOptions(command: Command): Command {
	return command
		.addOption(
			new Option("--ws-auth <mode>", "how clients of ws:// show who they are, in `Authorization: Bearer`").choices([
				"capability-token",
				"signed-bearer-token",
			]),
		)
		.option("--ws-token-file <path>", "the file with the token (capability-token)")
		.option("--ws-token-sha256 <hex>", "the SHA-256 of the token, instead of a file", sha256)
		.option("--ws-shared-secret-file <path>", "the file with the secret of signed tokens: JWT, HS256")
		.option("--ws-issuer <issuer>", "whom a signed token must be of")
		.option("--ws-audience <audience>", "whom a signed token must be for")
		.option("--ws-max-clock-skew-seconds <seconds>", "how far clocks may differ (default: 30)", wholeSeconds);
}

/** What the flags say; undefined when they ask for nothing. */
export async function webSocketAuthOf(flags: WebSocketAuthFlags): Promise<WebSocketAuth | undefined> {
	const { wsAuth, wsTokenFile, wsTokenSha256, wsSharedSecretFile, wsIssuer, wsAudience } = flags;
	const hasTokenFlag = (wsTokenFile ?? wsTokenSha256) !== undefined;
	const hasSignedFlag = (wsSharedSecretFile ?? wsIssuer ?? wsAudience ?? flags.wsMaxClockSkewSeconds) !== undefined;
	if (hasTokenFlag && wsAuth !== "capability-token")
		throw new UsageError("--ws-token-file and --ws-token-sha256 need --ws-auth capability-token");
	if (hasSignedFlag && wsAuth !== "signed-bearer-token")
		throw new UsageError(
			"--ws-shared-secret-file, --ws-issuer, --ws-audience and --ws-max-clock-skew-seconds need --ws-auth signed-bearer-token",
		);
	if (wsAuth === "capability-token") {
		if ((wsTokenFile === undefined) === (wsTokenSha256 === undefined))
			throw new UsageError("--ws-auth capability-token needs --ws-token-file or --ws-token-sha256, and not both");
		return { kind: wsAuth, sha256: wsTokenSha256 ?? digest(await secretIn(wsTokenFile ?? "")) };
	}
	if (wsAuth === undefined) return undefined;
	if (wsSharedSecretFile === undefined)
		throw new UsageError("--ws-auth signed-bearer-token needs --ws-shared-secret-file");
	const secret = await secretIn(wsSharedSecretFile);
	if (Buffer.byteLength(secret) < MIN_SECRET_BYTES)
		throw new UsageError(`the secret in ${wsSharedSecretFile} must have at least ${MIN_SECRET_BYTES} bytes`);
	const clockSkewSeconds = flags.wsMaxClockSkewSeconds ?? DEFAULT_CLOCK_SKEW_SECONDS;
	return { kind: wsAuth, secret, issuer: wsIssuer, audience: wsAudience, clockSkewSeconds };
}

/** The files that only whoever starts the server should read: they are not there for programs in a sandbox. */
export function secretFilesOf({ wsTokenFile, wsSharedSecretFile }: WebSocketAuthFlags): string[] {
	return [wsTokenFile, wsSharedSecretFile].filter((path) => path !== undefined).map((path) => resolve(path));
}

async function secretIn(file: string): Promise<string> {
	const secret = (await readFile(file, "utf8")).trim();
	if (secret === "") throw new UsageError(`${file} is empty; it must hold the token or the secret`);
	return secret;
}

function digest(token: string): string {
	return createHash("sha256").update(token).digest("hex");
}

function sha256(text: string): string {
	if (/^[0-9a-f]{64}$/i.test(text.trim())) return text.trim();
	throw new InvalidArgumentError("expected the 64 hexadecimal digits of a SHA-256");
}

function wholeSeconds(text: string): number {
	if (/^\d{1,9}$/.test(text)) return Number(text);
	throw new InvalidArgumentError("expected a whole number of seconds");
}
