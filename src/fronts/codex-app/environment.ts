/** The environment of a command: the server's, what its client changes in it, and what neither has a say in (contract §2.16). */

/** Never given to a command, whoever asks for it and however it is written: the server's own identity. */
const withheld: ReadonlySet<string> = new Set([
	"CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN",
	"NODE_REPL_AUTH_TOKEN",
	"OPENAI_FEDERATION_RULE_ID",
	"OPENAI_IDENTITY_TOKEN_FILE",
	"OPENAI_WORKLOAD_IDENTITY_CONTEXT",
]);

/** Says that a feature is on which is not there. */
const LINE_ENDINGS = "CODEX_APPLY_PATCH_PRESERVE_LINE_ENDINGS";
const NETWORK_DISABLED = "CODEX_SANDBOX_NETWORK_DISABLED";

type EnvironmentRequest = Readonly<Record<string, string | null>>;

/** `server` is this server's own; null in a request takes a variable away. */
export function commandEnvironment(
	server: Readonly<Record<string, string>>,
	request: EnvironmentRequest,
	{ isNetworkRestricted }: { readonly isNetworkRestricted: boolean },
): Record<string, string> {
	const env: Record<string, string> = {};
	for (const [name, value] of Object.entries({ ...server, ...request })) {
		if (value !== null && isName(name) && !isOurs(name)) env[name] = value;
	}
	return isNetworkRestricted ? { ...env, [NETWORK_DISABLED]: "1" } : env;
}

/** Others are passed over: no program could find them by their name. */
function isName(name: string): boolean {
	return name !== "" && !name.includes("=");
}

function isOurs(name: string): boolean {
	return name === LINE_ENDINGS || withheld.has(name.toUpperCase());
}
