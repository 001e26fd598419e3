/** What sandboxes a server would have on this machine, for who starts none. */

import type { SandboxSupport } from "../core/sandbox.ts";
import { Sandbox } from "../sandbox/sandbox.ts";

export async function probeSandbox(): Promise<SandboxSupport> {
	return (await Sandbox.probe({ path: process.env.PATH })).describe();
}
