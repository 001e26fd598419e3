/** Runs one `fs/*` request inside a sandbox: reads it from stdin, answers on stdout, exits. */

import { buffer } from "node:stream/consumers";
import { toRpcError } from "../errors.ts";
import { FileHandles } from "./handles.ts";
import { createFileMethods } from "./methods.ts";
import type { FileAnswer, FileRequest } from "./sandboxed.ts";

const asked = JSON.parse((await buffer(process.stdin)).toString()) as FileRequest;
process.stdout.write(JSON.stringify(await perform(asked)));

async function perform({ method, params }: FileRequest): Promise<FileAnswer> {
	try {
		const operation = createFileMethods(new FileHandles()).get(method)?.prepare(params);
		return { result: await operation?.(new AbortController().signal) };
	} catch (thrown) {
		const { code, message } = toRpcError(thrown);
		return { error: { code, message } };
	}
}
