/** `initialize`: what the client declares and what the server answers. */

import { arch, release, type } from "node:os";
import { RpcError, rpcCodes } from "../../json-rpc/errors.ts";
import * as rpc from "../../json-rpc/params.ts";

export type Client = {
	/** Whether it may use experimental methods. */
	readonly isExperimental: boolean;
	/** Notifications that the client opted out of. */
	readonly optedOut: ReadonlySet<string>;
};

/** Facts about the server sent to clients. */
export type Host = {
	readonly version: string;
	readonly codexHome: string;
	/** `TERM` of the server. */
	readonly term: string;
};

/** The parameters of `initialize` that are used here. */
type Introduction = {
	readonly clientInfo: { readonly name: string; readonly version: string };
	readonly capabilities: {
		readonly experimentalApi: boolean;
		readonly optOutNotificationMethods: readonly string[];
	};
};

const capabilities = rpc.object({
	experimentalApi: rpc.unlessAbsent(rpc.boolean, false),
	optOutNotificationMethods: rpc.optional(rpc.list(rpc.string), []),
});

export const introduction: rpc.Decode<Introduction> = rpc.object({
	clientInfo: rpc.object({ name: rpc.string, title: rpc.optional(rpc.string, null), version: rpc.string }),
	capabilities: rpc.optional(capabilities, { experimentalApi: false, optOutNotificationMethods: [] }),
});

const headerValue = /^[\t\x20-\x7e]*$/;

export function clientOf({ clientInfo, capabilities }: Introduction): Client {
	if (!headerValue.test(clientInfo.name)) {
		const message = `Invalid clientInfo.name: '${clientInfo.name}'. Must be a valid HTTP header value.`;
		throw new RpcError(rpcCodes.invalidRequest, message);
	}
	return {
		isExperimental: capabilities.experimentalApi,
		optedOut: new Set(capabilities.optOutNotificationMethods),
	};
}

const platforms: Readonly<Record<string, string>> = { darwin: "macos", win32: "windows" };

/** Clients take the word after the first slash for the server's version. */
export function greeting({ clientInfo }: Introduction, { version, codexHome, term }: Host): object {
	const { name, version: clientVersion } = clientInfo;
	const machine = arch() === "x64" ? "x86_64" : arch();
	return {
		userAgent: `${name}/${version} (${type()} ${release()}; ${machine}) ${term} (${name}; ${clientVersion})`,
		codexHome,
		platformFamily: process.platform === "win32" ? "windows" : "unix",
		platformOs: platforms[process.platform] ?? process.platform,
	};
}
