/** The parts of a `multipart/form-data` body (RFC 7578), as they come; no more of them is held than one read of the socket. */

import { ExecdError } from "../answers.ts";

/** A part's headers, and nothing else, must be whole before they can be read. */
const MAX_HEAD_BYTES = 16 * 1024;

type PartEvent =
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
	const input = new Input(body);
	try {
		// What is before the first part is nothing.
		for await (const _ of input.upTo(delimiter));
		while ((await input.peek(2)) !== "--") {
			// With the rest of the delimiter's line, in which there may be spaces.
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

/** What has come of a body and is not read yet. */
class Input {
	readonly #body: AsyncIterator<Buffer>;
	/** With a line break in front, so that the first delimiter is like the others. */
	#rest: Buffer = Buffer.from("\r\n");

	constructor(body: AsyncIterable<Buffer>) {
		this.#body = body[Symbol.asyncIterator]();
	}

	/** Everything before a mark, as it comes; the mark itself is passed over. */
	async *upTo(mark: Buffer): AsyncGenerator<Buffer, void, void> {
		for (let at = this.#rest.indexOf(mark); ; at = this.#rest.indexOf(mark)) {
			// Without a mark, its beginning may be at the end.
			const end = at >= 0 ? at : this.#rest.length - mark.length + 1;
			if (end > 0) yield this.#take(end);
			if (at < 0) await this.#more();
			else {
				this.#take(mark.length);
				return;
			}
		}
	}

	/** Everything to the end of a mark, at once. */
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

	/** What is after the last part is nothing; but only with it the body is whole. */
	async drain(): Promise<void> {
		while (!(await this.#body.next()).done);
	}

	/** However it ends: what is left of a body can be passed over only when nobody waits for it. */
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

/** The name of the field; what else is said of the part, and whether it has a file's name, does not matter. */
function nameOf(head: string): string {
	const disposition = /\r\ncontent-disposition:([^\r\n]*)/i.exec(head)?.[1] ?? "";
	const [, quoted, plain] = /;\s*name=(?:"([^"]*)"|([^\s;]+))/i.exec(disposition) ?? [];
	return quoted ?? plain ?? "";
}

function notMultipart(): ExecdError {
	return new ExecdError(400, "INVALID_FILE", "multipart form is empty");
}
