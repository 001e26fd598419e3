/** The --ws-auth flags of the Codex drop-ins. */

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { ExecAddress } from "../../server/dropins/codex-exec.ts";
import { UsageError } from "../print/errors.ts";

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

/** As in Codex. */
const DEFAULT_CLOCK_SKEW_SECONDS = 30;
/** The key size of HS256: a shorter secret is easier to guess than a signature. */
const MIN_SECRET_BYTES = 32;

export function addWebSocketAuthOptions(command: Command): Command {
	return command
		.addOption(
			new Option("--ws-auth <mode>", "client authentication for ws:// (Authorization: Bearer)").choices([
				"capability-token",
				"signed-bearer-token",
			]),
		)
		.option("--ws-token-file <path>", "file with the token (capability-token)")
		.option("--ws-token-sha256 <hex>", "SHA-256 of the token, instead of a file", sha256)
		.option("--ws-shared-secret-file <path>", "file with the HS256 secret for signed tokens (JWT)")
		.option("--ws-issuer <issuer>", "required issuer (iss) of signed tokens")
		.option("--ws-audience <audience>", "required audience (aud) of signed tokens")
		.option("--ws-max-clock-skew-seconds <seconds>", "allowed clock difference in seconds (default: 30)", wholeSeconds);
}

/** The authentication settings; undefined without --ws-auth. */
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
			throw new UsageError("--ws-auth capability-token needs exactly one of --ws-token-file and --ws-token-sha256");
		return { kind: wsAuth, sha256: wsTokenSha256 ?? digest(await secretIn(wsTokenFile ?? "")) };
	}
	if (wsAuth === undefined) return undefined;
	if (wsSharedSecretFile === undefined)
		throw new UsageError("--ws-auth signed-bearer-token needs --ws-shared-secret-file");
	const secret = await secretIn(wsSharedSecretFile);
	if (Buffer.byteLength(secret) < MIN_SECRET_BYTES)
		throw new UsageError(`the secret in ${wsSharedSecretFile} is too short (minimum ${MIN_SECRET_BYTES} bytes)`);
	const clockSkewSeconds = flags.wsMaxClockSkewSeconds ?? DEFAULT_CLOCK_SKEW_SECONDS;
	return { kind: wsAuth, secret, issuer: wsIssuer, audience: wsAudience, clockSkewSeconds };
}

/** Files that programs in a sandbox must not read. */
export function secretFilesOf({ wsTokenFile, wsSharedSecretFile }: WebSocketAuthFlags): string[] {
	return [wsTokenFile, wsSharedSecretFile].filter((path) => path !== undefined).map((path) => resolve(path));
}

async function secretIn(file: string): Promise<string> {
	const secret = (await readFile(file, "utf8")).trim();
	if (secret === "") throw new UsageError(`${file} is empty; expected a token or a secret`);
	return secret;
}

function digest(token: string): string {
	return createHash("sha256").update(token).digest("hex");
}

function sha256(text: string): string {
	if (/^[0-9a-f]{64}$/i.test(text.trim())) return text.trim();
	throw new InvalidArgumentError("expected a SHA-256 as 64 hex digits");
}

function wholeSeconds(text: string): number {
	if (/^\d{1,9}$/.test(text)) return Number(text);
	throw new InvalidArgumentError("expected an integer number of seconds");
}
