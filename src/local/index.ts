/** `hawser/client` in Node: the same SDK, which also finds the server of this account by itself. */

import { type Client, type ConnectOptions, connect as connectTo } from "../client/index.ts";
import { locate } from "./locate.ts";

export * from "../client/index.ts";

type LocalOptions = Partial<ConnectOptions> & {
	/** Of the server to be found; that of `HAWSER_STATE_DIR`, or the usual one, if left out. */
	readonly stateDir?: string;
};

/**
 * To the address that is given, else to that of `HAWSER_URL` and `HAWSER_TOKEN`, else to the server that this account
 * runs on this machine, over its socket. Makes no request yet: the first one shows whether the server is there.
 */
export function connect({ stateDir, url, ...options }: LocalOptions = {}): Client {
	if (url !== undefined) return connectTo({ url, ...options });
	const { HAWSER_URL, HAWSER_TOKEN } = process.env;
	const place = { url: HAWSER_URL, token: options.token ?? HAWSER_TOKEN, stateDir };
	return connectTo({ ...options, locate: options.locate ?? (() => locate(place)) });
}
