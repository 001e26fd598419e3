/** The server's settings. Flags take precedence over `HAWSER_*` variables, these over defaults. */

import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { type JwtRules, parseJwtKey } from "../access/jwt.ts";
import { defaultStateDirectory } from "../disk/state-path.ts";
import { parseOrigin } from "../http/origin.ts";
import { parseDuration, parseSize } from "../words/units.ts";

export type Config = {
	readonly host: string;
	/** Zero picks a free port. */
	readonly port: number;
	/** Sessions, journals, tokens and the address of the running server. */
	readonly stateDir: string;
	/** Directory of the sockets; private to the user. */
	readonly runtimeDir: string;
	readonly maxSessions: number;
	/** Per workspace. */
	readonly maxWorkspaceSessions: number;
	/** When journals are flushed to disk: within a second, or before each further write. */
	readonly fsync: "interval" | "always";
	/** Idle keepers kept ready for new sessions. */
	readonly spares: number;
	/** Default retention of a session, in memory and on disk. */
	readonly retention: { readonly memoryBytes: number; readonly journalBytes: number };
	/** Limit of all journals together. */
	readonly maxDiskBytes: number;
	/** Limit of the audit log; zero keeps none. */
	readonly maxAuditBytes: number;
	/** Default working directory of programs. */
	readonly cwd: string;
	/** A control group without processes, below which programs with limits get their own groups. */
	readonly cgroup: string | null;
	/** Accepted host names besides the loopback ones and `host`. */
	readonly allowedHosts: readonly string[];
	/** Origins whose pages may use the API, besides the server's own. */
	readonly allowedOrigins: readonly string[];
	/** PEM files of a certificate and its key. */
	readonly tls: { readonly certFile: string; readonly keyFile: string } | null;
	/** Accepted JWTs: the file of the key, and the required issuer and audience. */
	readonly jwt: { readonly keyFile: string; readonly issuer: string; readonly audience: string } | null;
	/** File that declares automatic sources for secret requests. */
	readonly secretSources: string | null;
	/** Directory with screen rules for coding agents. It need not exist. */
	readonly agentRules: string;
	/** File with the policies for permission dialogs of coding agents. */
	readonly agentPolicy: string | null;
	/** Readers per session. */
	readonly maxAttachments: number;
	readonly maxConnections: number;
	/** Starts per second per caller in the long run; zero means no limit. */
	readonly createRate: number;
	/** False gives every client that reaches the port full access. */
	readonly auth: boolean;
	/** A proxy in front of the server terminates TLS. */
	readonly behindProxy: boolean;
	/** Whether webhooks may go to link-local and cloud metadata addresses. */
	readonly webhookLinkLocal: boolean;
	/** Path prefix used by a proxy, without a trailing slash; empty for none. */
	readonly basePath: string;
	/** Time for a client to return to a Multica terminal; zero ends the terminal when its client leaves. */
	readonly multicaGraceMs: number;
	/** Multica terminals without input and output for this long are ended; zero disables this. */
	readonly multicaIdleMs: number;
};

/** An invalid setting; the message names it. */
export class ConfigError extends Error {
	/** The flag as typed. */
	readonly setting: string;

	constructor(setting: string, message: string) {
		super(`${setting}: ${message}`);
		this.name = "ConfigError";
		this.setting = setting;
	}
}

/** Flags that set a part of a setting, or use another unit. */
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

/** Flags by the name of their setting in `Config`. */
export type Flags = {
	readonly [K in keyof Config | FlagOfPart]?: string | boolean | undefined;
};
export type Environment = Readonly<Record<string, string | undefined>>;

const DEFAULT_SESSIONS = 1000;
/** Long enough to walk to another desk, short enough that unused shells are gone the next day. */
const DEFAULT_MULTICA_GRACE_MS = 10 * 60_000;
/** Same as Multica's daemon. */
const DEFAULT_MULTICA_IDLE_MS = 60 * 60_000;

export function loadConfig(flags: Flags = {}, env: Environment = process.env): Config {
	const from = new Settings(flags, env);
	const config: Config = {
		host: from.text("host", "127.0.0.1"),
		port: from.number("port", 7707, { min: 0, max: 65_535 }),
		stateDir: stateDirectory(flags, env),
		// Not in XDG_RUNTIME_DIR, which is emptied at logout, while durable sessions must stay reachable.
		runtimeDir: resolve(from.text("runtimeDir", join(stateDirectory(flags, env), "run"))),
		/** @limit running sessions (`--max-sessions`) | a start is refused with `limit_exceeded` */
		maxSessions: from.number("maxSessions", DEFAULT_SESSIONS, { min: 1, max: 1_000_000 }),
		/** @limit running sessions of one workspace (`--max-workspace-sessions`) | the same */
		maxWorkspaceSessions: from.number("maxWorkspaceSessions", DEFAULT_SESSIONS, { min: 1, max: 1_000_000 }),
		fsync: from.choice("fsync", ["interval", "always"]),
		spares: from.number("spares", 1, { min: 0, max: 64 }),
		retention: {
			/**
			 * @limit output of one session in memory (`--max-memory`) | the oldest events are dropped once the journal
			 * has them; until then the program waits
			 */
			memoryBytes: from.size("maxMemory", 1024 ** 2),
			/**
			 * @limit journal of one session (`--max-journal`) | the newest segment replaces the oldest one; if a
			 * lossless cursor is there, the program waits
			 */
			journalBytes: from.size("maxJournal", 64 * 1024 ** 2),
		},
		/**
		 * @limit journals and screen checkpoints of all sessions (`--max-disk`) | the oldest ended sessions make room
		 * for a new one; without any, `limit_exceeded`
		 */
		maxDiskBytes: from.size("maxDisk", 32 * 1024 ** 3),
		/** @limit the audit (`--max-audit`) | the oldest file is dropped, and an entry says so */
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
		agentPolicy: from.path("agentPolicy"),
		agentRules: resolve(
			from.text("agentRules", join(env.XDG_CONFIG_HOME || join(homedir(), ".config"), "hawser", "agents")),
		),
		/**
		 * @limit readers of one session (`--max-attachments`) | `limit_exceeded`; a caller that may operate the
		 * session always gets one
		 */
		maxAttachments: from.number("maxAttachments", 100, { min: 1, max: 1_000_000 }),
		/**
		 * @limit connections (`--max-connections`), and half of the descriptors left at the start | strangers, who
		 * have a quarter, give way first: the oldest of the address with the most. Then the caller with the most gives
		 * way, idle connections first
		 */
		maxConnections: from.number("maxConnections", 4096, { min: 1, max: 1_000_000 }),
		/**
		 * @limit new sessions and tokens of one caller (`--create-rate`) | % a second, five seconds' worth at once |
		 * 429 with `retryAfterMs`
		 */
		createRate: from.number("createRate", 20, { min: 0, max: 1_000_000 }),
		auth: from.boolean("auth", true),
		behindProxy: from.boolean("behindProxy", false),
		webhookLinkLocal: from.boolean("webhookLinkLocal", false),
		basePath: from.urlPath("basePath"),
		/**
		 * @limit a Multica terminal without its client (`--multica-grace`) | it is ended; a new server restarts the
		 * time
		 */
		multicaGraceMs: from.duration("multicaGrace", DEFAULT_MULTICA_GRACE_MS),
		/** @limit a Multica terminal without a byte (`--multica-idle`) | it is ended */
		multicaIdleMs: from.duration("multicaIdle", DEFAULT_MULTICA_IDLE_MS),
	};
	checkReach(config);
	return config;
}

/** The state directory, which other commands use to find the server. */
export function stateDirectory(flags: { readonly stateDir?: string | boolean | undefined }, env: Environment): string {
	return resolve(new Settings({ stateDir: flags.stateDir }, env).text("stateDir", defaultStateDirectory(env)));
}

function tlsFiles(from: Settings): Config["tls"] {
	const certFile = from.text("tlsCert", "");
	const keyFile = from.text("tlsKey", "");
	if (certFile === "" && keyFile === "") return null;
	if (keyFile === "") throw new ConfigError("--tls-key", "required with --tls-cert: the file of the private key");
	if (certFile === "") throw new ConfigError("--tls-cert", "required with --tls-key: the file of the certificate");
	return { certFile: resolve(certFile), keyFile: resolve(keyFile) };
}

function jwtRules(from: Settings): Config["jwt"] {
	const keyFile = from.text("jwtKey", "");
	const issuer = from.text("jwtIssuer", "");
	const audience = from.text("jwtAudience", "");
	if (keyFile === "" && issuer === "" && audience === "") return null;
	const needed = { "--jwt-key": keyFile, "--jwt-issuer": issuer, "--jwt-audience": audience };
	for (const [flag, value] of Object.entries(needed)) {
		if (value === "") throw new ConfigError(flag, "required: JWTs are checked by key, issuer and audience");
	}
	return { keyFile: resolve(keyFile), issuer, audience };
}

/** The rules for JWTs, including the key itself. */
export function readJwtRules({ keyFile, issuer, audience }: NonNullable<Config["jwt"]>): JwtRules {
	const text = readText("--jwt-key", keyFile);
	try {
		return { key: parseJwtKey(text), issuer, audience };
	} catch (error) {
		throw new ConfigError("--jwt-key", `${keyFile} ${error instanceof Error ? error.message : String(error)}`);
	}
}

/** Reads a certificate and its key and checks that they match. Errors do not contain file contents. */
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

/** Without TLS, tokens would cross the network in the clear. */
function checkReach({ host, auth, tls, behindProxy }: Config): void {
	if (isLoopback(host)) return;
	if (!auth)
		throw new ConfigError("--no-auth", `not allowed on ${host}: every client that reaches it could run programs`);
	if (tls || behindProxy) return;
	throw new ConfigError(
		"--host",
		`${host} can be reached by others; give --tls-cert and --tls-key, or put a TLS proxy in front and add --behind-proxy`,
	);
}

/** Whether an address is reachable from this machine only. */
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

	/** A path prefix, without a trailing slash. */
	urlPath(name: keyof Flags): string {
		const path = this.text(name, "");
		if (/^(?:(?:\/[\w.~-]+)*\/?)$/.test(path)) return path.replace(/\/$/, "");
		throw new ConfigError(
			this.#find(name).setting,
			`expected a path such as /tools/hawser, not ${JSON.stringify(path)}`,
		);
	}

	/** A comma-separated list. `problem` returns why an item is invalid. */
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

	/** One of several words; the first is the default. */
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
		// An empty variable counts as unset.
		return { value: this.#env[variable] || undefined, setting: variable };
	}
}
