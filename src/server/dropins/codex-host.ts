/** Facts about the machine that Codex clients ask for. */

import { homedir } from "node:os";
import { join } from "node:path";
import { version } from "../version.ts";

type CodexHost = { readonly version: string; readonly codexHome: string; readonly term: string };

export function codexHost(): CodexHost {
	return { version, codexHome: codexHome(), term: process.env.TERM ?? "unknown" };
}

/** Codex's directory. Hawser stores nothing there. */
export function codexHome(): string {
	return process.env.CODEX_HOME ?? join(homedir(), ".codex");
}
