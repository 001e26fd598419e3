/** Real coding agents with their own homes, and a scripted model in place of a service. */

import { existsSync } from "node:fs";
import { mkdir, realpath, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const packages = fileURLToPath(new URL("../../scripts/agents/node_modules/", import.meta.url));

/** Nothing listens there, so that requests to other machines fail at once. */
const CLOSED = "http://127.0.0.1:9";
const KEY = "scripted-key-of-no-service";

export type AgentName = "codex" | "gemini" | "opencode" | "claude-code" | "copilot";

export type AgentStart = {
	readonly argv: readonly string[];
	readonly env: Readonly<Record<string, string>>;
	readonly cwd: string;
};

type Place = { readonly home: string; readonly project: string; readonly model: string };

type Setup = {
	readonly argv: readonly string[];
	readonly env?: Readonly<Record<string, string>>;
	/** Files below the home, by path. */
	readonly files?: Readonly<Record<string, string>>;
};

/** How each agent is started without questions of its first start. `program` replaces the installed one. */
const setups: Readonly<Record<AgentName, (place: Place, program: string | undefined) => Setup>> = {
	codex: ({ model, project }, program = join(packages, ".bin/codex")) => ({
		argv: [program],
		env: { MODEL_KEY: KEY },
		files: { ".codex/config.toml": codexConfig(model, project) },
	}),
	gemini: ({ model }, program = join(packages, ".bin/gemini")) => ({
		argv: [program],
		env: { GEMINI_API_KEY: KEY, GOOGLE_GEMINI_BASE_URL: model },
		files: {
			".gemini/settings.json": JSON.stringify({
				security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
				general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
				privacy: { usageStatisticsEnabled: false },
			}),
		},
	}),
	opencode: ({ model }, program = join(packages, `opencode-linux-${process.arch}/bin/opencode`)) => ({
		// The package's own command is made by its install script, which set-up does not run.
		argv: [program],
		env: { OPENCODE_DISABLE_AUTOUPDATE: "1", OPENCODE_DISABLE_MODELS_FETCH: "1", OPENCODE_DISABLE_LSP_DOWNLOAD: "1" },
		files: {
			".config/opencode/opencode.json": JSON.stringify({
				autoupdate: false,
				share: "disabled",
				model: "scripted/scripted",
				small_model: "scripted/scripted",
				permission: { bash: "ask", edit: "ask" },
				provider: {
					scripted: {
						npm: "@ai-sdk/openai-compatible",
						name: "Scripted",
						options: { baseURL: `${model}/v1`, apiKey: KEY },
						models: { scripted: { name: "Scripted", tool_call: true, limit: { context: 100_000, output: 10_000 } } },
					},
				},
			}),
		},
	}),
	"claude-code": ({ model, project }, program = "claude") => ({
		argv: [program],
		env: { ANTHROPIC_BASE_URL: model, ANTHROPIC_API_KEY: KEY, DISABLE_AUTOUPDATER: "1" },
		files: {
			// By default it decides about permissions itself.
			".claude/settings.json": JSON.stringify({ permissions: { defaultMode: "default" } }),
			".claude.json": JSON.stringify({
				hasCompletedOnboarding: true,
				hasSeenAutoDefaultNudge: true,
				customApiKeyResponses: { approved: [KEY.slice(-20)], rejected: [] },
				projects: { [project]: { hasTrustDialogAccepted: true } },
			}),
		},
	}),
	copilot: ({ model, project }, program = "copilot") => ({
		argv: [program],
		env: {
			COPILOT_PROVIDER_BASE_URL: `${model}/v1`,
			COPILOT_PROVIDER_TYPE: "openai",
			COPILOT_PROVIDER_API_KEY: KEY,
			COPILOT_MODEL: "scripted",
			COPILOT_OFFLINE: "true",
		},
		files: { ".copilot/config.json": JSON.stringify({ trustedFolders: [project] }) },
	}),
};

/** `read-only`, so that it also asks about edits. */
function codexConfig(model: string, project: string): string {
	return `
model = "scripted"
model_provider = "scripted"
approval_policy = "on-request"
sandbox_mode = "read-only"
check_for_update_on_startup = false

[model_providers.scripted]
name = "Scripted"
base_url = "${model}/v1"
wire_api = "responses"
env_key = "MODEL_KEY"

[features]
default_mode_request_user_input = true

[projects."${project}"]
trust_level = "trusted"
`;
}

/** Writes the agent's configuration below `directory`. `model` is the address of a scripted model. */
export async function prepareAgent(
	name: AgentName,
	{ directory, model, program }: { readonly directory: string; readonly model: string; readonly program?: string },
): Promise<AgentStart> {
	const home = join(await realpath(directory), "home");
	const project = join(await realpath(directory), "project");
	await mkdir(project);
	const { argv, env = {}, files = {} } = setups[name]({ home, project, model }, program);
	const [executable = ""] = argv;
	if (executable.includes("/") && !existsSync(executable)) {
		throw new Error(`${name} is not installed: there is no ${executable}`);
	}
	for (const [path, content] of Object.entries(files)) {
		await mkdir(dirname(join(home, path)), { recursive: true });
		await writeFile(join(home, path), content);
	}
	const proxies = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].flatMap((key) => [key, key.toLowerCase()]);
	return {
		argv,
		cwd: project,
		env: {
			PATH: process.env.PATH ?? "",
			HOME: home,
			...Object.fromEntries(proxies.map((key) => [key, CLOSED])),
			...{ NO_PROXY: "127.0.0.1", no_proxy: "127.0.0.1" },
			...env,
		},
	};
}
