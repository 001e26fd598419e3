/** The methods that write to, resize and end a process. The two families differ only in names and texts. */

import type { Size } from "../../../../words/state.ts";
import * as rpc from "../../../json-rpc/params.ts";
import { invalidParams } from "../errors.ts";
import type { Method } from "../methods.ts";
import type { FamilyText } from "./error-text.ts";
import * as shared from "./params.ts";
import type { AppProcess } from "./process.ts";
import type { Processes } from "./processes.ts";

type Family = {
	/** Decodes the client's name for the process. */
	readonly id: rpc.Decode<string>;
	readonly keyOf: (id: string) => string | undefined;
	readonly wording: FamilyText;
	readonly isExperimental: boolean;
	/** Names of the methods. */
	readonly write: string;
	readonly resize: string;
	readonly terminate: string;
};

/** Finds the process that a request names. Only called after the other checks. */
type Find = () => AppProcess;

const writing = rpc.object({ deltaBase64: rpc.optional(rpc.string, null), closeStdin: shared.flag });
const resizing = rpc.object({ size: shared.terminalSize });

export function createControlMethods(processes: Processes, family: Family): readonly [string, Method][] {
	const { wording, isExperimental } = family;
	const method = <Params>(
		name: string,
		decode: rpc.Decode<Params>,
		act: (find: Find, params: Params, pass: () => void) => Promise<void>,
	): [string, Method] => [
		name,
		(params) => {
			const id = family.id(params);
			const decoded = decode(params);
			return {
				key: family.keyOf(id),
				experimental: isExperimental ? name : undefined,
				run: async (pass) => {
					await act(() => processes.get(id, wording), decoded, pass);
					return {};
				},
			};
		},
	];
	return [
		method(family.write, writing, (find, params, pass) => write(find, params, wording, pass)),
		method(family.resize, resizing, (find, { size }, pass) => resize(find, size, wording, pass)),
		method(family.terminate, rpc.object({}), async (find) => find().terminate()),
	];
}

async function write(
	find: Find,
	{ deltaBase64, closeStdin }: ReturnType<typeof writing>,
	{ emptyWrite }: FamilyText,
	pass: () => void,
): Promise<void> {
	if (deltaBase64 === null && !closeStdin) throw invalidParams(emptyWrite);
	const bytes = deltaBase64 === null ? null : bytesOf(deltaBase64);
	const queued = find().write(bytes, closeStdin);
	// The input is queued in order; the next request need not wait for room.
	pass();
	await queued;
}

async function resize(find: Find, size: Size, wording: FamilyText, pass: () => void): Promise<void> {
	shared.checkSize(size, wording);
	const resized = find().resize(size);
	pass();
	await resized;
}

function bytesOf(text: string): Buffer {
	const decoded = rpc.fromBase64(text);
	if (decoded) return decoded;
	throw invalidParams(`invalid deltaBase64: ${fault(text)}`);
}

/** The error text of Codex's server. */
function fault(text: string): string {
	const body = text.replace(/={0,2}$/, "");
	const foreign = text.search(/[^+/0-9A-Za-z=]/);
	const offset = foreign >= 0 ? foreign : body.indexOf("=");
	if (offset >= 0) return `Invalid symbol ${text.charCodeAt(offset)}, offset ${offset}.`;
	if (body.length % 4 === 1) return `Invalid input length: ${body.length}`;
	if (text.length % 4 !== 0) return "Invalid padding";
	const last = body.length - 1;
	return `Invalid last symbol ${body.charCodeAt(last)}, offset ${last}.`;
}
