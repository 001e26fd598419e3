/** Passes hooks to an agent at its start, where it takes them without any change of its files. */

import { basename } from "node:path";
import { UsageError } from "../print/errors.ts";
import { type AgentName, copilotPlugin, entriesFor, hookedAgent } from "./agents.ts";
import { installState } from "./installation.ts";

type Environment = Readonly<Record<string, string | undefined>>;
export type Launch = { readonly argv: readonly string[]; readonly env: Readonly<Record<string, string>> };

/** The command with the agent's hooks. Without a program, or with flags alone, the agent's own program is run. */
export async function launchWithHooks(name: AgentName, wanted: readonly string[], env: Environment): Promise<Launch> {
	const [program = name, ...args] = wanted[0]?.startsWith("-") ? [name, ...wanted] : wanted;
	if (basename(program) !== name) {
		throw new UsageError(`--agent ${name} needs the command ${name}, not ${JSON.stringify(program)}`);
	}
	const agent = hookedAgent(name, env);
	// Twice would only cost time.
	if ((await installState(agent)) === "installed") return { argv: [program, ...args], env: {} };
	switch (name) {
		case "claude":
			if (args.some((arg) => /^--settings(?:=|$)/.test(arg))) {
				throw new UsageError(`claude takes --settings only once; ${installInstead(name)}`);
			}
			return { argv: [program, "--settings", agent.source, ...args], env: {} };
		case "codex": {
			const entries = Object.entries(await entriesFor(agent));
			const flags = entries.flatMap(([event, groups]) => ["--config", `hooks.${event}=${tomlOf(groups)}`]);
			return { argv: [program, ...flags, ...args], env: {} };
		}
		case "opencode":
			return {
				argv: [program, ...args],
				env: { OPENCODE_CONFIG_CONTENT: withPlugin(env.OPENCODE_CONFIG_CONTENT, `file://${agent.source}`) },
			};
		case "copilot":
			return { argv: [program, "--plugin-dir", copilotPlugin, ...args], env: {} };
		case "gemini":
			throw new UsageError(`gemini takes hooks from its settings only; ${installInstead(name)}`);
	}
}

function installInstead(name: AgentName): string {
	return `install the hooks instead: hawser agent install ${name}`;
}

/** opencode's inline configuration with one more plugin. */
function withPlugin(given: string | undefined, plugin: string): string {
	const before = given ? parsed(given) : {};
	const plugins = Array.isArray(before.plugin) ? (before.plugin as unknown[]) : [];
	return JSON.stringify({ ...before, plugin: [...plugins, plugin] });
}

function parsed(text: string): Record<string, unknown> {
	try {
		return JSON.parse(text) as Record<string, unknown>;
	} catch {
		throw new UsageError(`OPENCODE_CONFIG_CONTENT is not JSON; ${installInstead("opencode")}`);
	}
}

/** A value as TOML in one line. Strings of JSON are strings of TOML. */
function tomlOf(value: unknown): string {
	if (Array.isArray(value)) return `[${value.map(tomlOf).join(",")}]`;
	if (typeof value !== "object" || value === null) return JSON.stringify(value);
	const pairs = Object.entries(value).map(([key, one]) => `${key}=${tomlOf(one)}`);
	return `{${pairs.join(",")}}`;
}
