/** `hawser/client` in Node.js: the SDK, which also finds the local server of this account. */

import { type Client, type ConnectOptions, connect as connectTo } from "../index.ts";
import { locate } from "./locate.ts";

export * from "../index.ts";

type LocalOptions = Partial<ConnectOptions> & {
	/** State directory of the local server. Default: `HAWSER_STATE_DIR`, or the usual one. */
	readonly stateDir?: string;
};

/**
 * Connects to the given URL, else to `HAWSER_URL` with `HAWSER_TOKEN`, else to the local server of this account over
 * its socket. Makes no request; the first one shows whether the server is reachable.
 */
export function connect({ stateDir, url, ...options }: LocalOptions = {}): Client {
	if (url !== undefined) return connectTo({ url, ...options });
	const { HAWSER_URL, HAWSER_TOKEN } = process.env;
	const place = { url: HAWSER_URL, token: options.token ?? HAWSER_TOKEN, stateDir };
	return connectTo({ ...options, locate: options.locate ?? (() => locate(place)) });
}
