/** The parts of a `multipart/form-data` body (RFC 7578), as they come; no more of them is held than one read of the socket. */

import { ExecdError } from "../answers.ts";

/** A part's headers, and nothing else, must be whole before they can be read. */
const MAX_HEAD_BYTES = 16 * 1024;

export type PartEvent =
	| { readonly kind: "part"; readonly name: string }
	/** Of the part that was last begun. */
	| { readonly kind: "data"; readonly bytes: Buffer }
	/** Of that part, too. */
	| { readonly kind: "end" };

export function boundaryOf(contentType: string | undefined): string {
	const [, quoted, plain] =
		/^multipart\/[^;]*;(?:.*;)?\s*boundary=(?:"([^"]+)"|([^\s;]+))/i.exec(contentType ?? "") ?? [];
	const boundary = quoted ?? plain;
	if (boundary === undefined) throw notMultipart();
	return boundary;
}

/** Throws for a body that is none, or is cut off. */
export async function* readParts(body: AsyncIterable<Buffer>, boundary: string): AsyncGenerator<PartEvent, void, void> {
	const delimiter = Buffer.from(`\r\n--${boundary}`, "latin1");
	// So that the first delimiter is like the others.
	let rest: Buffer = Buffer.from("\r\n");
	let state: "preamble" | "delimiter" | "head" | "data" | "over" = "preamble";
	for await (const chunk of body) {
		if (state === "over") continue;
		rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
		for (let isMoving = true; isMoving; ) {
			isMoving = false;
			if (state === "preamble" || state === "data") {
				const at = rest.indexOf(delimiter);
				// The end may be the beginning of a delimiter.
				const end = at < 0 ? Math.max(0, rest.length - delimiter.length + 1) : at;
				if (state === "data" && end > 0) yield { kind: "data", bytes: rest.subarray(0, end) };
				rest = rest.subarray(end);
				if (at < 0) break;
				if (state === "data") yield { kind: "end" };
				rest = rest.subarray(delimiter.length);
				state = "delimiter";
			}
			if (state === "delimiter") {
				if (rest.length < 2) break;
				// Spaces may stand between the delimiter and the end of its line.
				const line = rest.indexOf("\r\n");
				if (rest.subarray(0, 2).toString() === "--") {
					state = "over";
					break;
				}
				if (line < 0) {
					if (rest.length > MAX_HEAD_BYTES) throw notMultipart();
					break;
				}
				rest = rest.subarray(line);
				state = "head";
			}
			if (state === "head") {
				// From the end of the delimiter's line on: headers, each after a line break, and an empty line.
				const end = rest.indexOf("\r\n\r\n");
				if (end < 0) {
					if (rest.length > MAX_HEAD_BYTES) throw notMultipart();
					break;
				}
				yield { kind: "part", name: nameOf(rest.subarray(0, end).toString("utf8")) };
				// The line break before a delimiter that follows at once is this one.
				rest = rest.subarray(end + 2);
				if (!rest.subarray(0, delimiter.length).equals(delimiter)) rest = rest.subarray(2);
				state = "data";
				isMoving = true;
			}
		}
	}
	if (state !== "over") throw notMultipart();
}

/** The name of the field; what else is said of the part, and whether it has a file's name, does not matter. */
function nameOf(head: string): string {
	const disposition = /\r\ncontent-disposition:([^\r\n]*)/i.exec(head)?.[1] ?? "";
	const [, quoted, plain] = /;\s*name=(?:"([^"]*)"|([^\s;]+))/i.exec(disposition) ?? [];
	return quoted ?? plain ?? "";
}

function notMultipart(): ExecdError {
	return new ExecdError(400, "INVALID_FILE", "multipart form is empty");
}
