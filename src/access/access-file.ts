/** Stores tokens and signed-in browsers in one file, which contains no secrets and is always replaced as a whole. */

import { readFile } from "node:fs/promises";
import { Serial } from "../async/serial.ts";
import { SessionError } from "../core/errors.ts";
import type { Gate } from "../core/policy/gate.ts";
import { parseScope } from "../core/policy/scope.ts";
import { type SecretRight, secretRights } from "../words/rights.ts";
import type { BrowserRecord } from "./signed-in-browsers.ts";
import type { TokenRecord } from "./tokens.ts";

const VERSION = 3;

export type Stored = {
	/** Digest of the admin token. Changing that token also signs out the browsers that it signed in. */
	readonly admin: string;
	readonly tokens: readonly TokenRecord[];
	readonly browsers: readonly BrowserRecord[];
};

export class AccessFile {
	readonly #path: string;
	readonly #write: (path: string, text: string) => Promise<void>;
	readonly #writes = new Serial();
	/** The queued write, until it starts. */
	#waiting: Promise<void> | undefined;

	constructor(path: string, write: (path: string, text: string) => Promise<void>) {
		this.#path = path;
		this.#write = write;
	}

	/** Undefined if there is no file. Throws for an unknown format instead of losing tokens. */
	async read(): Promise<Stored | undefined> {
		let text: string;
		try {
			text = await readFile(this.#path, "utf8");
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
			throw error;
		}
		return parse(text, this.#path);
	}

	/** Resolves when the current result of `stored` is on disk. Queued writes are combined. */
	save(stored: () => Stored): Promise<void> {
		this.#waiting ??= this.#writes.run(() => {
			this.#waiting = undefined;
			return this.#write(this.#path, `${JSON.stringify({ version: VERSION, ...stored() }, null, "\t")}\n`);
		});
		return this.#waiting;
	}

	/** Resolves when no write is in progress. Its caller gets the result. */
	settled(): Promise<void> {
		return this.#writes.idle();
	}
}

function parse(text: string, path: string): Stored {
	const unreadable = (cause?: unknown) =>
		new SessionError("invalid_argument", `${path} is damaged: its content is not valid`, {
			hint: "restore it, or move it away to start without tokens",
			cause,
		});
	let value: Partial<Stored> & { version?: unknown };
	try {
		value = JSON.parse(text) as typeof value;
	} catch {
		// The parser's error would quote the file.
		throw unreadable();
	}
	if (typeof value?.version === "number" && value.version !== VERSION) {
		const isNewer = value.version > VERSION;
		throw new SessionError(
			"unsupported",
			`${path} was written by ${isNewer ? "a newer" : "an older"} version (${value.version}; this one reads ${VERSION})`,
			{
				hint: `nothing was changed; ${isNewer ? "start the newer server again" : "move the file away to start without tokens"}`,
			},
		);
	}
	const { admin, tokens, browsers } = value ?? {};
	if (typeof admin !== "string" || !Array.isArray(tokens) || !Array.isArray(browsers)) throw unreadable();
	if (!tokens.every(isToken) || !browsers.every(isBrowser)) throw unreadable();
	return { admin, tokens, browsers };
}

const isText = (value: unknown): value is string => typeof value === "string";
const isHash = (value: unknown): boolean => isText(value) && /^[0-9a-f]{64}$/.test(value);
const isTime = (value: unknown): boolean => Number.isSafeInteger(value);

function isToken(value: unknown): value is TokenRecord {
	if (typeof value !== "object" || value === null) return false;
	const { id, name, scopes, hash, createdAt, expiresAt, lastUsedAt, parent, secrets, gate } = value as Record<
		string,
		unknown
	>;
	if (!isText(id) || !/^[0-9a-f]{12}$/.test(id) || !isHash(hash) || !isTime(createdAt)) return false;
	if (!(name === null || isText(name)) || !(parent === null || isText(parent))) return false;
	if (!(expiresAt === null || isTime(expiresAt)) || !(lastUsedAt === null || isTime(lastUsedAt))) return false;
	if (secrets !== undefined && !secretRights.includes(secrets as SecretRight)) return false;
	return Array.isArray(scopes) && scopes.every(isScope) && (gate === undefined || gate === null || isGate(gate));
}

function isGate(value: unknown): value is Gate {
	if (typeof value !== "object" || value === null) return false;
	const { match, keys, signals, stops, timeoutMs } = value as Record<string, unknown>;
	const isRule = (keys === "enter" || keys === "all") && typeof signals === "boolean" && typeof stops === "boolean";
	return isRule && isTime(timeoutMs) && Array.isArray(match) && match.every(isText);
}

function isScope(value: unknown): boolean {
	try {
		return isText(value) && parseScope(value) !== undefined;
	} catch {
		return false;
	}
}

function isBrowser(value: unknown): value is BrowserRecord {
	if (typeof value !== "object" || value === null) return false;
	const { hash, key, token, expiresAt } = value as Record<string, unknown>;
	return isHash(hash) && isHash(key) && isText(token) && isTime(expiresAt);
}
