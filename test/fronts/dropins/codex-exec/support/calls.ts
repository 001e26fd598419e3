/** Calls methods as a connection does: decode, then run. */

import type { Methods } from "../../../../../src/fronts/dropins/codex-exec/methods.ts";
import { toPathUri } from "../../../../../src/fronts/dropins/codex-exec/path-uri.ts";
import { RpcError } from "../../../../../src/fronts/json-rpc/errors.ts";

export type Call = (name: string, params: unknown) => Promise<unknown>;

/** Calls one of `methods`. A protocol error is returned, and any other error is thrown. */
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

/** The decoded value, or the text of its refusal. */
export function refusalOf(act: () => unknown): string {
	try {
		return `decoded ${JSON.stringify(act())}`;
	} catch (error) {
		if (!(error instanceof RpcError)) throw error;
		return `${error.code}: ${error.message}`;
	}
}

/** A path below a directory. The name may have bytes that are not UTF-8. */
export function below(directory: string, name: string | Buffer): Buffer {
	return Buffer.concat([Buffer.from(`${directory}/`), Buffer.from(name)]);
}

export function uriBelow(directory: string, name: string | Buffer): string {
	return toPathUri(below(directory, name));
}
