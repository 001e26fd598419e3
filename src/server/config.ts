/** The server's settings: flags before `HAWSER_*` variables before defaults. */

import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { type JwtRules, parseJwtKey } from "../access/jwt.ts";
import { parseOrigin } from "../access/origin.ts";
import { parseDuration, parseSize } from "../protocol/units.ts";

export type Config = {
	readonly host: string;
	/** Zero picks a free one. */
	readonly port: number;
	/** Sessions, journals, tokens and the address of the running server. */
	readonly stateDir: string;
	/** Sockets; private to the user. */
	readonly runtimeDir: string;
	readonly maxSessions: number;
	/** Of these, in one workspace. */
	readonly maxWorkspaceSessions: number;
	/** When the disk confirms what is written to journals: within a second, or before anything else is written. */
	readonly fsync: "interval" | "always";
	/** How many keepers wait ready for the next session. */
	readonly spares: number;
	/** Kept of each session in memory and on disk, when it does not ask for anything else. */
	readonly retention: { readonly memoryBytes: number; readonly journalBytes: number };
	/** What the journals of all sessions together may take on disk. */
	readonly maxDiskBytes: number;
	/** What the record of who did what may take on disk; zero keeps none. */
	readonly maxAuditBytes: number;
	/** Where programs start that do not say. */
	readonly cwd: string;
	/** A control group, without processes of its own, in which programs with limits get groups of theirs. */
	readonly cgroup: string | null;
	/** Names under which the server may be asked for, besides the loopback ones and `host`. */
	readonly allowedHosts: readonly string[];
	/** Pages that may use the server, besides those that come from it. */
	readonly allowedOrigins: readonly string[];
	/** The files of a certificate and its key, both as PEM. */
	readonly tls: { readonly certFile: string; readonly keyFile: string } | null;
	/** Whose JWTs are believed, besides our own tokens: the file of the key, and what must stand in them. */
	readonly jwt: { readonly keyFile: string; readonly issuer: string; readonly audience: string } | null;
	/** The file that names what answers requests for secrets without a person. */
	readonly secretSources: string | null;
	/** How many may follow one session at a time. */
	readonly maxAttachments: number;
	readonly maxConnections: number;
	/** How many sessions one caller may make in a second, in the long run; zero is no limit. */
	readonly createRate: number;
	/** False lets everybody in who can reach the port. */
	readonly auth: boolean;
	/** Somebody else does TLS in front of us. */
	readonly behindProxy: boolean;
	/** The path below which a proxy serves us, without a slash at its end; empty for none. */
	readonly basePath: string;
	/** How long a Multica terminal waits for its client to come back; zero ends it when the client leaves. */
	readonly multicaGraceMs: number;
	/** A Multica terminal is ended after this long without output or input; zero is never. */
	readonly multicaIdleMs: number;
};

/** A setting that makes no sense; the message names it. */
export class ConfigError extends Error {
	/** The flag, as it would be typed. */
	readonly setting: string;

	constructor(setting: string, message: string) {
		super(`${setting}: ${message}`);
		this.name = "ConfigError";
		this.setting = setting;
	}
}

/** What is typed for a part of a setting, or in another unit. */
type FlagOfPart =
	| "maxMemory"
	| "maxJournal"
	| "maxDisk"
	| "maxAudit"
	| "tlsCert"
	| "tlsKey"
	| "jwtKey"
	| "jwtIssuer"
	| "jwtAudience"
	| "multicaGrace"
	| "multicaIdle";

/** What was typed, by the name of the setting in `Config`. */
export type Flags = {
	readonly [K in keyof Config | FlagOfPart]?: string | boolean | undefined;
};
export type Environment = Readonly<Record<string, string | undefined>>;

const DEFAULT_SESSIONS = 1000;
/** Long enough to walk to another desk, and short enough that a shell nobody wants is not there the next day. */
const DEFAULT_MULTICA_GRACE_MS = 10 * 60_000;
/** As its own daemon has it. */
const DEFAULT_MULTICA_IDLE_MS = 60 * 60_000;

export function loadConfig(flags: Flags = {}, env: Environment = process.env): Config {
	const from = new Settings(flags, env);
	const config: Config = {
		host: from.text("host", "127.0.0.1"),
		port: from.number("port", 7707, { min: 0, max: 65_535 }),
		stateDir: stateDirectory(flags, env),
		// Not in XDG_RUNTIME_DIR, which is emptied at logout: durable sessions must be found again after it.
		runtimeDir: resolve(from.text("runtimeDir", join(stateDirectory(flags, env), "run"))),
		maxSessions: from.number("maxSessions", DEFAULT_SESSIONS, { min: 1, max: 1_000_000 }),
		maxWorkspaceSessions: from.number("maxWorkspaceSessions", DEFAULT_SESSIONS, { min: 1, max: 1_000_000 }),
		fsync: from.choice("fsync", ["interval", "always"]),
		spares: from.number("spares", 1, { min: 0, max: 64 }),
		retention: {
			memoryBytes: from.size("maxMemory", 1024 ** 2),
			journalBytes: from.size("maxJournal", 64 * 1024 ** 2),
		},
		maxDiskBytes: from.size("maxDisk", 32 * 1024 ** 3),
		maxAuditBytes: from.size("maxAudit", 64 * 1024 ** 2),
		cwd: resolve(from.text("cwd", homedir())),
		cgroup: from.path("cgroup"),
		allowedHosts: from.list("allowedHosts"),
		allowedOrigins: from.list("allowedOrigins", (origin) => {
			if (parseOrigin(origin) === undefined) return `expected origins such as https://example.org, not ${origin}`;
			return undefined;
		}),
		tls: tlsFiles(from),
		jwt: jwtRules(from),
		secretSources: from.path("secretSources"),
		maxAttachments: from.number("maxAttachments", 100, { min: 1, max: 1_000_000 }),
		maxConnections: from.number("maxConnections", 4096, { min: 1, max: 1_000_000 }),
		createRate: from.number("createRate", 20, { min: 0, max: 1_000_000 }),
		auth: from.boolean("auth", true),
		behindProxy: from.boolean("behindProxy", false),
		basePath: from.urlPath("basePath"),
		multicaGraceMs: from.duration("multicaGrace", DEFAULT_MULTICA_GRACE_MS),
		multicaIdleMs: from.duration("multicaIdle", DEFAULT_MULTICA_IDLE_MS),
	};
	checkReach(config);
	return config;
}

/** Where a server keeps its state, which is also where the other commands look for it. */
export function stateDirectory(flags: { readonly stateDir?: string | boolean | undefined }, env: Environment): string {
	return resolve(new Settings({ stateDir: flags.stateDir }, env).text("stateDir", defaultStateDir(env)));
}

function tlsFiles(from: Settings): Config["tls"] {
	const certFile = from.text("tlsCert", "");
	const keyFile = from.text("tlsKey", "");
	if (certFile === "" && keyFile === "") return null;
	if (keyFile === "") throw new ConfigError("--tls-key", "is needed with --tls-cert: the file of the private key");
	if (certFile === "") throw new ConfigError("--tls-cert", "is needed with --tls-key: the file of the certificate");
	return { certFile: resolve(certFile), keyFile: resolve(keyFile) };
}

function jwtRules(from: Settings): Config["jwt"] {
	const keyFile = from.text("jwtKey", "");
	const issuer = from.text("jwtIssuer", "");
	const audience = from.text("jwtAudience", "");
	if (keyFile === "" && issuer === "" && audience === "") return null;
	const needed = { "--jwt-key": keyFile, "--jwt-issuer": issuer, "--jwt-audience": audience };
	for (const [flag, value] of Object.entries(needed)) {
		if (value === "") throw new ConfigError(flag, "is needed: JWTs are checked for their key, issuer and audience");
	}
	return { keyFile: resolve(keyFile), issuer, audience };
}

/** What JWTs are checked by, with the key itself. */
export function readJwtRules({ keyFile, issuer, audience }: NonNullable<Config["jwt"]>): JwtRules {
	const text = readText("--jwt-key", keyFile);
	try {
		return { key: parseJwtKey(text), issuer, audience };
	} catch (error) {
		throw new ConfigError("--jwt-key", `${keyFile} ${error instanceof Error ? error.message : String(error)}`);
	}
}

/** The certificate and its key, if they can be read and belong together. What is wrong is said without their text. */
export function readTls({ certFile, keyFile }: NonNullable<Config["tls"]>): { cert: string; key: string } {
	const cert = readText("--tls-cert", certFile);
	const key = readText("--tls-key", keyFile);
	const certificate = parsed(
		"--tls-cert",
		`${certFile} is not a certificate in PEM form`,
		() => new X509Certificate(cert),
	);
	const what = `${keyFile} is not a private key in PEM form, or it has a passphrase`;
	const privateKey = parsed("--tls-key", what, () => createPrivateKey(key));
	if (certificate.checkPrivateKey(privateKey)) return { cert, key };
	throw new ConfigError("--tls-key", `${keyFile} is not the key of the certificate in ${certFile}`);
}

function readText(setting: string, path: string): string {
	try {
		return readFileSync(path, "utf8");
	} catch (error) {
		throw new ConfigError(setting, `${path} can't be read (${(error as NodeJS.ErrnoException).code})`);
	}
}

function parsed<T>(setting: string, problem: string, parse: () => T): T {
	try {
		return parse();
	} catch {
		throw new ConfigError(setting, problem);
	}
}

/** A token that crosses a network in the clear is nobody's secret any more. */
function checkReach({ host, auth, tls, behindProxy }: Config): void {
	if (isLoopback(host)) return;
	if (!auth) throw new ConfigError("--no-auth", `not on ${host}: anybody who reaches it could run programs`);
	if (tls || behindProxy) return;
	throw new ConfigError(
		"--host",
		`${host} can be reached by others; give --tls-cert and --tls-key, or put a TLS proxy in front and add --behind-proxy`,
	);
}

/** Whether an address to listen on can be reached from this machine alone. */
export function isLoopback(host: string): boolean {
	return host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

class Settings {
	readonly #flags: Flags;
	readonly #env: Environment;

	constructor(flags: Flags, env: Environment) {
		this.#flags = flags;
		this.#env = env;
	}

	text(name: keyof Flags, fallback: string): string {
		const { value, setting } = this.#find(name);
		if (value === undefined) return fallback;
		if (value === "" || typeof value === "boolean") throw new ConfigError(setting, "must not be empty");
		return value;
	}

	path(name: keyof Flags): string | null {
		const path = this.text(name, "");
		return path === "" ? null : resolve(path);
	}

	/** Where something is on a server, without a slash at its end. */
	urlPath(name: keyof Flags): string {
		const path = this.text(name, "");
		if (/^(?:(?:\/[\w.~-]+)*\/?)$/.test(path)) return path.replace(/\/$/, "");
		throw new ConfigError(
			this.#find(name).setting,
			`expected a path such as /tools/hawser, not ${JSON.stringify(path)}`,
		);
	}

	/** Several, by commas; `problem` says what is wrong with one. */
	list(name: keyof Flags, problem: (item: string) => string | undefined = () => undefined): string[] {
		const items = this.text(name, "").split(",");
		const found = items.flatMap((item) => item.trim() || []);
		const wrong = found.flatMap((item) => problem(item) ?? [])[0];
		if (wrong !== undefined) throw new ConfigError(this.#find(name).setting, wrong);
		return found;
	}

	number(name: keyof Flags, fallback: number, { min, max }: { min: number; max: number }): number {
		const { value, setting } = this.#find(name);
		if (value === undefined) return fallback;
		const number = /^\d{1,15}$/.test(String(value)) ? Number(value) : Number.NaN;
		if (number >= min && number <= max) return number;
		throw new ConfigError(setting, `expected a whole number from ${min} to ${max}, not ${JSON.stringify(value)}`);
	}

	size(name: keyof Flags, fallback: number): number {
		return this.#parsed(name, fallback, parseSize);
	}

	duration(name: keyof Flags, fallback: number): number {
		return this.#parsed(name, fallback, parseDuration);
	}

	#parsed(name: keyof Flags, fallback: number, parse: (text: string) => number): number {
		const { value, setting } = this.#find(name);
		if (value === undefined) return fallback;
		try {
			return parse(String(value));
		} catch (error) {
			throw new ConfigError(setting, error instanceof Error ? error.message : String(error));
		}
	}

	/** One of a few words, of which the first is the default. */
	choice<Word extends string>(name: keyof Flags, words: readonly [Word, ...Word[]]): Word {
		const { value, setting } = this.#find(name);
		const word = value === undefined ? words[0] : words.find((candidate) => candidate === value);
		if (word !== undefined) return word;
		throw new ConfigError(setting, `expected ${words.join(" or ")}, not ${JSON.stringify(value)}`);
	}

	boolean(name: keyof Flags, fallback: boolean): boolean {
		const { value, setting } = this.#find(name);
		if (value === undefined || typeof value === "boolean") return value ?? fallback;
		if (/^(1|true|yes|on)$/i.test(value)) return true;
		if (/^(0|false|no|off)$/i.test(value)) return false;
		throw new ConfigError(setting, `expected true or false, not ${JSON.stringify(value)}`);
	}

	#find(name: keyof Flags): { value: string | boolean | undefined; setting: string } {
		const words = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
		const flag = this.#flags[name];
		if (flag !== undefined) return { value: flag, setting: `--${words}` };
		const variable = `HAWSER_${words.replaceAll("-", "_").toUpperCase()}`;
		// An empty variable is how a shell says that there is none.
		return { value: this.#env[variable] || undefined, setting: variable };
	}
}

function defaultStateDir(env: Environment): string {
	return join(env.XDG_STATE_HOME || join(homedir(), ".local", "state"), "hawser");
}
