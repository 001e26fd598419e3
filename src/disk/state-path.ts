/** The state directory of a server, where commands look for it too. */

import { homedir } from "node:os";
import { join, resolve } from "node:path";

type Environment = Readonly<Record<string, string | undefined>>;

export function defaultStateDirectory(env: Environment): string {
	return join(env.XDG_STATE_HOME || join(homedir(), ".local", "state"), "hawser");
}

/** The given directory, else HAWSER_STATE_DIR, else the default. An empty string counts as not set. */
export function findStateDirectory(wanted: string | undefined, env: Environment): string {
	return resolve(wanted || env.HAWSER_STATE_DIR || defaultStateDirectory(env));
}
