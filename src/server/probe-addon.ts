/** Whether the packaged addon loads on this machine, for commands that start no server. Nothing is compiled. */

import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { platform } from "../../native/platform.js";
import { builtFile } from "../native/addon.ts";

/** `fault` is the reason if it does not load. */
export function probeAddon(): { readonly platform: string; readonly fault: string | undefined } {
	const path = builtFile("hawser.node");
	try {
		createRequire(import.meta.url)(path);
		return { platform, fault: undefined };
	} catch (error) {
		const reason = error instanceof Error ? error.message : String(error);
		return { platform, fault: existsSync(path) ? reason : `${path} is missing` };
	}
}
