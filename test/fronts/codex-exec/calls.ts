/** Calls of methods as a connection makes them: decode, then run; and what comes of them. */

import { toPathUri } from "../../../src/fronts/codex-exec/path-uri.ts";
import { RpcError } from "../../../src/fronts/json-rpc/error.ts";
import type { Methods } from "../../../src/fronts/json-rpc/methods.ts";

export type Call = (name: string, params: unknown) => Promise<unknown>;

/** Calls one of `methods`; an error of the wire comes back as a value, anything else is thrown. */
export function caller(methods: Methods, signal: AbortSignal = new AbortController().signal): Call {
	return async (name, params) => {
		const method = methods.get(name);
		if (!method) throw new Error(`no method ${name}`);
		return outcome(async () => method.prepare(params)(signal));
	};
}

export async function outcome(act: () => Promise<unknown>): Promise<unknown> {
	try {
		return await act();
	} catch (error) {
		if (!(error instanceof RpcError)) throw error;
		return { code: error.code, message: error.message };
	}
}

/** What a decoder makes of a value, or the text it refuses it with. */
export function refusalOf(act: () => unknown): string {
	try {
		return `decoded ${JSON.stringify(act())}`;
	} catch (error) {
		if (!(error instanceof RpcError)) throw error;
		return `${error.code}: ${error.message}`;
	}
}

/** A path below a directory; the name may have bytes that are no text. */
export function below(directory: string, name: string | Buffer): Buffer {
	return Buffer.concat([Buffer.from(`${directory}/`), Buffer.from(name)]);
}

export function uriBelow(directory: string, name: string | Buffer): string {
	return toPathUri(below(directory, name));
}
