/**
 * The environment of a command: the server's variables, the client's changes, and the fixed exceptions (contract
 * §2.16).
 */

import { isWithheld } from "../../json-rpc/withheld-variables.ts";

/** Advertises a feature that this server does not have. */
const LINE_ENDINGS = "CODEX_APPLY_PATCH_PRESERVE_LINE_ENDINGS";
const NETWORK_DISABLED = "CODEX_SANDBOX_NETWORK_DISABLED";

type EnvironmentRequest = Readonly<Record<string, string | null>>;

/** `server` is the server's own environment. A null in `request` removes a variable. */
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

/** Other names are ignored: no program could look them up. */
function isName(name: string): boolean {
	return name !== "" && !name.includes("=");
}

function isOurs(name: string): boolean {
	return name === LINE_ENDINGS || isWithheld(name);
}
