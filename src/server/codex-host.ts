/** What clients of Codex are told of the machine they talk to. */

import { homedir } from "node:os";
import { join } from "node:path";
import { version } from "./version.ts";

type CodexHost = { readonly version: string; readonly codexHome: string; readonly term: string };

export function codexHost(): CodexHost {
	return { version, codexHome: codexHome(), term: process.env.TERM ?? "unknown" };
}

/** Where Codex keeps its files; nothing is kept there by us. */
export function codexHome(): string {
	return process.env.CODEX_HOME ?? join(homedir(), ".codex");
}
