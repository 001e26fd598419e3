/** The coding agents whose hooks we know: where they are configured, and how they are passed at launch. */

import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { UsageError } from "../print/errors.ts";
import type { HookEntries } from "./hook-entries.ts";

export const agentNames = ["claude", "codex", "gemini", "opencode", "copilot"] as const;
export type AgentName = (typeof agentNames)[number];

type Environment = Readonly<Record<string, string | undefined>>;

export type HookedAgent = {
	readonly name: AgentName;
	/** Our file, in the package. */
	readonly source: string;
	/** The agent's own directory, which must exist. */
	readonly home: string;
	/** The file that an installation changes or creates. */
	readonly target: string;
	/** Whether the file is shared with the user's own entries, or ours alone. */
	readonly isShared: boolean;
	/** Steps that the user must take afterwards. */
	readonly note?: string;
};

/** Our files for agents, in the package. */
const FOLDER = fileURLToPath(new URL("../../../agents", import.meta.url));

export function hookedAgent(name: AgentName, env: Environment = process.env): HookedAgent {
	const user = env.HOME || homedir();
	const config = env.XDG_CONFIG_HOME || join(user, ".config");
	switch (name) {
		case "claude": {
			const home = env.CLAUDE_CONFIG_DIR || join(user, ".claude");
			return { name, source: join(FOLDER, "claude.json"), home, target: join(home, "settings.json"), isShared: true };
		}
		case "codex": {
			const home = env.CODEX_HOME || join(user, ".codex");
			return {
				name,
				source: join(FOLDER, "codex.json"),
				home,
				target: join(home, "hooks.json"),
				isShared: true,
				note: "Codex asks at its next start whether to trust the hooks",
			};
		}
		case "gemini": {
			const home = join(env.GEMINI_CLI_HOME || user, ".gemini");
			return { name, source: join(FOLDER, "gemini.json"), home, target: join(home, "settings.json"), isShared: true };
		}
		case "opencode": {
			const home = env.OPENCODE_CONFIG_DIR || join(config, "opencode");
			return {
				name,
				source: join(FOLDER, "opencode.js"),
				home,
				target: join(home, "plugins", "hawser.js"),
				isShared: false,
			};
		}
		case "copilot": {
			const home = env.COPILOT_HOME || join(user, ".copilot");
			return {
				name,
				source: join(FOLDER, "copilot", "hooks.json"),
				home,
				target: join(home, "hooks", "hawser.json"),
				isShared: false,
			};
		}
	}
}

/** The directory that Copilot loads as a plugin. */
export const copilotPlugin: string = join(FOLDER, "copilot");

/** Our entries for an agent with a shared file. */
export async function entriesFor({ source }: Pick<HookedAgent, "source">): Promise<HookEntries> {
	return (JSON.parse(await readFile(source, "utf8")) as { readonly hooks: HookEntries }).hooks;
}

export function agentName(wanted: string): AgentName {
	const name = agentNames.find((one) => one === wanted);
	if (name) return name;
	throw new UsageError(`unknown agent ${JSON.stringify(wanted)}; known are ${agentNames.join(", ")}`);
}
