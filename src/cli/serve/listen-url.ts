/** The --listen address of the Codex drop-ins. */

import { isIP } from "node:net";
import { UsageError } from "../print/errors.ts";

export type WebSocketAddress = { readonly host: string; readonly port: number };

/** Parses `ws://IP:PORT`; like Codex, does not resolve host names. */
export function parseWebSocketUrl(url: string): WebSocketAddress {
	const [, ip = "", port = ""] = /^ws:\/\/(\[[^\]]*\]|[^:/]*):(\d{1,5})$/.exec(url) ?? [];
	const host = ip.replace(/^\[(.*)\]$/, "$1");
	const isValid = isIP(host) === (ip.startsWith("[") ? 6 : 4) && port !== "" && Number(port) <= 65_535;
	if (!isValid) throw new UsageError(`invalid websocket --listen URL \`${url}\`; expected \`ws://IP:PORT\``);
	return { host, port: Number(port) };
}
