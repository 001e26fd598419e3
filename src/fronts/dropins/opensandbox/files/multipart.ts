/**
 * Parses a `multipart/form-data` body (RFC 7578) as a stream, holding about one socket read at a time.
 *
 * Decision 0036 says why this is not a dependency.
 */

import { ExecdError } from "../errors.ts";

/** A part's headers are buffered up to this size. */
const MAX_HEAD_BYTES = 16 * 1024;

type PartEvent =
	| { readonly kind: "part"; readonly name: string }
	/** Content of the current part. */
	| { readonly kind: "data"; readonly bytes: Buffer }
	/** End of the current part. */
	| { readonly kind: "end" };

export function boundaryOf(contentType: string | undefined): string {
	const [, quoted, plain] =
		/^multipart\/[^;]*;(?:.*;)?\s*boundary=(?:"([^"]+)"|([^\s;]+))/i.exec(contentType ?? "") ?? [];
	const boundary = quoted ?? plain;
	if (boundary === undefined) throw notMultipart();
	return boundary;
}

/** Throws if the body is not multipart or is truncated. */
export async function* readParts(body: AsyncIterable<Buffer>, boundary: string): AsyncGenerator<PartEvent, void, void> {
	const delimiter = Buffer.from(`\r\n--${boundary}`, "latin1");
	const input = new Input(body);
	try {
		// Skip the preamble.
		for await (const _ of input.upTo(delimiter));
		while ((await input.peek(2)) !== "--") {
			// Includes the rest of the delimiter's line, which may have trailing spaces.
			const head = await input.through(Buffer.from("\r\n\r\n"));
			yield { kind: "part", name: nameOf(head.toString("utf8")) };
			for await (const bytes of input.upTo(delimiter)) yield { kind: "data", bytes };
			yield { kind: "end" };
		}
		await input.drain();
	} finally {
		await input.release();
	}
}

/** Unread bytes of the body. */
class Input {
	readonly #body: AsyncIterator<Buffer>;
	/** Starts with a line break, so that the first delimiter looks like the others. */
	#rest: Buffer = Buffer.from("\r\n");

	constructor(body: AsyncIterable<Buffer>) {
		this.#body = body[Symbol.asyncIterator]();
	}

	/** Yields everything before `mark`, and skips the mark. */
	async *upTo(mark: Buffer): AsyncGenerator<Buffer, void, void> {
		for (let at = this.#rest.indexOf(mark); ; at = this.#rest.indexOf(mark)) {
			// If `mark` is not found, its start may be at the end of the data.
			const end = at >= 0 ? at : this.#rest.length - mark.length + 1;
			if (end > 0) yield this.#take(end);
			if (at < 0) await this.#more();
			else {
				this.#take(mark.length);
				return;
			}
		}
	}

	/** Returns everything through the end of `mark`. */
	async through(mark: Buffer): Promise<Buffer> {
		for (;;) {
			const at = this.#rest.indexOf(mark);
			if (at >= 0) return this.#take(at + mark.length);
			if (this.#rest.length > MAX_HEAD_BYTES) throw notMultipart();
			await this.#more();
		}
	}

	async peek(bytes: number): Promise<string> {
		while (this.#rest.length < bytes) await this.#more();
		return this.#rest.toString("latin1", 0, bytes);
	}

	/** Skips the epilogue. The body is complete only after it. */
	async drain(): Promise<void> {
		while (!(await this.#body.next()).done);
	}

	/** Ends the iteration, so that the rest of the body can be discarded. */
	async release(): Promise<void> {
		await this.#body.return?.();
	}

	#take(bytes: number): Buffer {
		const taken = this.#rest.subarray(0, bytes);
		this.#rest = this.#rest.subarray(bytes);
		return taken;
	}

	async #more(): Promise<void> {
		const { value, done } = await this.#body.next();
		if (done) throw notMultipart();
		this.#rest = this.#rest.length === 0 ? value : Buffer.concat([this.#rest, value]);
	}
}

/** The field's name. Other attributes, such as a file name, are ignored. */
function nameOf(head: string): string {
	const disposition = /\r\ncontent-disposition:([^\r\n]*)/i.exec(head)?.[1] ?? "";
	const [, quoted, plain] = /;\s*name=(?:"([^"]*)"|([^\s;]+))/i.exec(disposition) ?? [];
	return quoted ?? plain ?? "";
}

function notMultipart(): ExecdError {
	return new ExecdError(400, "INVALID_FILE", "multipart form is empty");
}
