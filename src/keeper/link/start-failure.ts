/** The exit status of a keeper that could not listen, which tells its server the reason. */

import { getSystemErrorName } from "node:util";

/** Added to the errno. Lower statuses are Node's own. */
const BASE = 100;

export function startFailure({ errno }: NodeJS.ErrnoException): number {
	return errno === undefined ? 1 : BASE - errno;
}

/** The name of the system's error, such as ENOSPC; undefined for any other status. */
export function startFailureName(status: number | null): string | undefined {
	if (status === null || status <= BASE) return undefined;
	try {
		return getSystemErrorName(BASE - status);
	} catch {
		return undefined;
	}
}
