/** A file of further variables for programs, read anew for each, so that whoever writes it is heard at once. */

import { readFile } from "node:fs/promises";

/** Lines `KEY=VALUE`; others, and comments, are passed over. A missing file says nothing. */
export async function readEnvFile(
	path: string | undefined,
	env: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, string>>> {
	if (path === undefined || path === "") return {};
	const text = await readFile(path, "utf8").catch(() => "");
	const variables: Record<string, string> = {};
	for (const line of text.split("\n")) {
		const [, name, value] = /^\s*([^#=\s][^=\s]*)\s*=(.*)$/.exec(line.replace(/\r$/, "")) ?? [];
		if (name !== undefined && value !== undefined) variables[name] = expand(value.trim(), env);
	}
	return variables;
}

function expand(value: string, env: Readonly<Record<string, string>>): string {
	return value.replace(/\$(?:\{([^}]*)\}|([A-Za-z_][A-Za-z0-9_]*))/g, (_, braced?: string, plain?: string) => {
		const name = braced ?? plain ?? "";
		return (Object.hasOwn(env, name) ? env[name] : undefined) ?? "";
	});
}
