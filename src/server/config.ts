/** The server's settings: flags before `HAWSER_*` variables before defaults. */

import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { parseSize } from "../protocol/units.ts";

export type Config = {
	readonly host: string;
	/** Zero picks a free one. */
	readonly port: number;
	/** Sessions, journals, tokens and the address of the running server. */
	readonly stateDir: string;
	/** Sockets; private to the user. */
	readonly runtimeDir: string;
	readonly maxSessions: number;
	/** When the disk confirms what is written to journals: within a second, or before anything else is written. */
	readonly fsync: "interval" | "always";
	/** How many keepers wait ready for the next session. */
	readonly spares: number;
	/** Kept of each session in memory and on disk, when it does not ask for anything else. */
	readonly retention: { readonly memoryBytes: number; readonly journalBytes: number };
	/** Where programs start that do not say. */
	readonly cwd: string;
	/** Names under which the server may be asked for, besides the loopback ones and `host`. */
	readonly allowedHosts: readonly string[];
	/** False lets everybody in who can reach the port. */
	readonly auth: boolean;
	/** Somebody else does TLS in front of us. */
	readonly behindProxy: boolean;
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

/** What was typed, by the name of the setting in `Config`. */
export type Flags = { readonly [K in keyof Config | "maxMemory" | "maxJournal"]?: string | boolean | undefined };
export type Environment = Readonly<Record<string, string | undefined>>;

export function loadConfig(flags: Flags = {}, env: Environment = process.env): Config {
	const from = new Settings(flags, env);
	const config: Config = {
		host: from.text("host", "127.0.0.1"),
		port: from.number("port", 7707, { min: 0, max: 65_535 }),
		stateDir: stateDirectory(flags, env),
		// Not in XDG_RUNTIME_DIR, which is emptied at logout: durable sessions must be found again after it.
		runtimeDir: resolve(from.text("runtimeDir", join(stateDirectory(flags, env), "run"))),
		maxSessions: from.number("maxSessions", 1000, { min: 1, max: 1_000_000 }),
		fsync: from.choice("fsync", ["interval", "always"]),
		spares: from.number("spares", 1, { min: 0, max: 64 }),
		retention: {
			memoryBytes: from.size("maxMemory", 1024 ** 2),
			journalBytes: from.size("maxJournal", 64 * 1024 ** 2),
		},
		cwd: resolve(from.text("cwd", homedir())),
		allowedHosts: from
			.text("allowedHosts", "")
			.split(",")
			.flatMap((name) => name.trim() || []),
		auth: from.boolean("auth", true),
		behindProxy: from.boolean("behindProxy", false),
	};
	checkReach(config);
	return config;
}

/** Where a server keeps its state, which is also where the other commands look for it. */
export function stateDirectory(flags: { readonly stateDir?: string | boolean | undefined }, env: Environment): string {
	return resolve(new Settings({ stateDir: flags.stateDir }, env).text("stateDir", defaultStateDir(env)));
}

/** A token that crosses a network in the clear is nobody's secret any more. */
function checkReach({ host, auth, behindProxy }: Config): void {
	const isLocal = host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
	if (isLocal) return;
	if (!auth) throw new ConfigError("--no-auth", `not on ${host}: anybody who reaches it could run programs`);
	if (!behindProxy) {
		throw new ConfigError(
			"--host",
			`${host} can be reached by others; put a TLS proxy in front and add --behind-proxy`,
		);
	}
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

	number(name: keyof Flags, fallback: number, { min, max }: { min: number; max: number }): number {
		const { value, setting } = this.#find(name);
		if (value === undefined) return fallback;
		const number = /^\d{1,15}$/.test(String(value)) ? Number(value) : Number.NaN;
		if (number >= min && number <= max) return number;
		throw new ConfigError(setting, `expected a whole number from ${min} to ${max}, not ${JSON.stringify(value)}`);
	}

	size(name: keyof Flags, fallback: number): number {
		const { value, setting } = this.#find(name);
		if (value === undefined) return fallback;
		try {
			return parseSize(String(value));
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
