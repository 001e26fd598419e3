/** Which shell there is for commands. */

import { access, constants } from "node:fs/promises";
import { join } from "node:path";

/** `bash`, or `sh` where it is not found in the PATH that programs get. */
export async function findShell(env: Readonly<Record<string, string>>): Promise<"bash" | "sh"> {
	for (const directory of (env.PATH ?? "").split(":")) {
		if (directory === "") continue;
		const isThere = await access(join(directory, "bash"), constants.X_OK).then(
			() => true,
			() => false,
		);
		if (isThere) return "bash";
	}
	return "sh";
}
