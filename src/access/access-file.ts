/** Tokens and browsers on disk: one file, written whole, without a secret in it. */

import { readFile } from "node:fs/promises";
import { type SecretRight, secretRights } from "../core/access.ts";
import { SessionError } from "../core/errors.ts";
import type { Gate } from "../core/gate.ts";
import type { BrowserRecord } from "./browsers.ts";
import { parseScope } from "./scope.ts";
import type { TokenRecord } from "./tokens.ts";

/** A server of before there were gates must not take a file that has one: its tokens would do alone what they may not. */
const VERSION = 2;
const UNGATED_VERSION = 1;

export type Stored = {
	/** Digest of the admin token: who changes that one also signs out the browsers that came from it. */
	readonly admin: string;
	readonly tokens: readonly TokenRecord[];
	readonly browsers: readonly BrowserRecord[];
};

export class AccessFile {
	readonly #path: string;
	readonly #write: (path: string, text: string) => Promise<void>;
	/** The last write that was asked for. */
	#last: Promise<void> = Promise.resolve();
	/** The same, as long as it has not begun. */
	#waiting: Promise<void> | undefined;

	constructor(path: string, write: (path: string, text: string) => Promise<void>) {
		this.#path = path;
		this.#write = write;
	}

	/** What was stored; undefined the first time. Refuses what it does not understand, rather than to forget a token. */
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

	/** Resolves when what `stored` returns, now or later, is on disk. Writes that wait for one another become one. */
	save(stored: () => Stored): Promise<void> {
		this.#waiting ??= this.settled().then(() => {
			this.#waiting = undefined;
			const { tokens, ...rest } = stored();
			const version = tokens.some(({ gate }) => gate !== null) ? VERSION : UNGATED_VERSION;
			return this.#write(this.#path, `${JSON.stringify({ version, tokens, ...rest }, null, "\t")}\n`);
		});
		this.#last = this.#waiting;
		return this.#waiting;
	}

	/** Resolves when no write is under way any more, whatever became of it: who asked for it has heard. */
	settled(): Promise<void> {
		return this.#last.catch(() => undefined);
	}
}

function parse(text: string, path: string): Stored {
	const unreadable = (cause?: unknown) =>
		new SessionError("invalid_argument", `${path} can't be read: it is not what this server has written`, {
			hint: "restore it, or move it away to start without tokens",
			cause,
		});
	let value: Partial<Stored> & { version?: unknown };
	try {
		value = JSON.parse(text) as typeof value;
	} catch {
		// The error would quote the file, which is nobody's business.
		throw unreadable();
	}
	if (typeof value?.version === "number" && value.version > VERSION) {
		throw new SessionError("unsupported", `${path} was written by a newer version (${value.version})`, {
			hint: "start the newer server again; nothing was changed",
		});
	}
	const { admin, tokens, browsers } = value ?? {};
	if (typeof admin !== "string" || !Array.isArray(tokens) || !Array.isArray(browsers)) throw unreadable();
	if (!tokens.every(isToken) || !browsers.every(isBrowser)) throw unreadable();
	// Those of before there were page keys are signed out: a cookie alone is worth nothing any more.
	return { admin, tokens, browsers: browsers.filter(({ key }) => key !== undefined) };
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
	return isHash(hash) && (key === undefined || isHash(key)) && isText(token) && isTime(expiresAt);
}
