/**
 * `POST /files/upload`: files in one body, each with its metadata.
 *
 * All of it is received before the first target is touched, and every target that can't be written is found by then:
 * what is refused, cut off or left changes nothing.
 */

import type { FastifyRequest } from "fastify";
import { ExecdError } from "../answers.ts";
import { Body } from "../body.ts";
import { type BytePath, fromText, type Surroundings, shown, toTheLetter } from "./byte-path.ts";
import { runtimeError, saying } from "./errors.ts";
import { IdNames } from "./id-names.ts";
import { boundaryOf, readParts } from "./multipart.ts";
import { type Ownership, ownershipOf, readPermission } from "./permissions.ts";
import { directoryNear, type Place, placeOf, put } from "./place.ts";
import type { Spool, Spools } from "./spool.ts";

/** What is said of one file, in memory until the body is whole. */
const MAX_METADATA_BYTES = 64 * 1024;
/** How many files one body may have: what is known of each is in memory until the last has come. */
const MAX_FILES = 100_000;

type UploadOptions = { readonly around: Surroundings; readonly spools: Spools };

export async function upload(request: FastifyRequest, options: UploadOptions): Promise<void> {
	const boundary = boundaryOf(request.headers["content-type"]);
	const received = new Received(options, await IdNames.read());
	try {
		// What is refused in the middle leaves the connection as it is, so that its client can hear why.
		const body = request.raw.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
		for await (const event of readParts(body, boundary)) {
			if (event.kind === "part") received.begin(event.name);
			else if (event.kind === "data") await received.add(event.bytes);
			else await received.end();
		}
		await received.commit();
	} finally {
		await received.dispose();
	}
}

/** Where one file goes. */
type Target = { readonly given: BytePath; readonly place: Place; readonly ownership: Ownership };

/** What of a body has come. */
class Received {
	readonly #options: UploadOptions;
	readonly #names: IdNames;
	readonly #metadata: Buffer[] = [];
	/** Of the metadata with the same number, as far as it is known. */
	readonly #targets = new Map<number, Target>();
	readonly #spools: Spool[] = [];
	#part: "metadata" | "file" | "other" = "other";
	#pieces: Buffer[] = [];
	#bytes = 0;
	#isFileOpen = false;

	constructor(options: UploadOptions, names: IdNames) {
		this.#options = options;
		this.#names = names;
	}

	begin(name: string): void {
		this.#part = name === "metadata" || name === "file" ? name : "other";
		if (this.#metadata.length >= MAX_FILES || this.#spools.length >= MAX_FILES)
			throw new ExecdError(400, "INVALID_FILE", `more than ${MAX_FILES} files in one request`);
		this.#pieces = [];
		this.#bytes = 0;
		this.#isFileOpen = false;
	}

	async add(bytes: Buffer): Promise<void> {
		if (this.#part === "file") await (await this.#file()).write(bytes);
		if (this.#part !== "metadata") return;
		this.#bytes += bytes.length;
		if (this.#bytes > MAX_METADATA_BYTES) throw invalidMetadata(`it has more than ${MAX_METADATA_BYTES} bytes`);
		this.#pieces.push(bytes);
	}

	async end(): Promise<void> {
		if (this.#part === "metadata") this.#metadata.push(Buffer.concat(this.#pieces));
		// An empty one.
		if (this.#part === "file") await this.#file();
	}

	/** Everything is checked first; then one file after the other gets its content. */
	async commit(): Promise<void> {
		const [metadata, files] = [this.#metadata.length, this.#spools.length];
		if (metadata === 0) throw new ExecdError(400, "INVALID_FILE_METADATA", "metadata file is missing");
		if (files === 0) throw new ExecdError(400, "INVALID_FILE_CONTENT", "file is missing");
		if (metadata !== files)
			throw new ExecdError(400, "INVALID_FILE", `metadata and file count mismatch: ${metadata} vs ${files}`);
		const targets: Target[] = [];
		for (const index of this.#spools.keys()) targets.push(await this.#target(index));
		for (const [index, { given, place, ownership }] of targets.entries()) {
			const spool = this.#spools[index];
			if (!spool) throw new Error("invariant: a file without its content");
			const { spools } = this.#options;
			// Looked at again: the same file may come twice.
			const now = await placeOf(place.path);
			await saying(runtimeError(`error writing file ${shown(given)}`), () => put(spool, now, { ownership, spools }));
			await spool.dispose();
		}
	}

	async dispose(): Promise<void> {
		for (const spool of this.#spools) await spool.dispose();
	}

	/** Beside its target if that is known; one whose metadata is wrong is refused before its content is read. */
	async #file(): Promise<Spool> {
		const last = this.#spools.at(-1);
		if (this.#isFileOpen && last) return last;
		this.#isFileOpen = true;
		const index = this.#spools.length;
		const target = index < this.#metadata.length ? await this.#target(index) : undefined;
		const near = target && (await directoryNear(target.place));
		const isPrivate = target?.ownership.mode !== undefined || target?.place.present !== undefined;
		const what = target ? `error opening destination file ${shown(target.given)}` : "error receiving a file";
		const spool = await saying(runtimeError(what), () => this.#options.spools.create(near, isPrivate));
		this.#spools.push(spool);
		return spool;
	}

	async #target(index: number): Promise<Target> {
		const known = this.#targets.get(index);
		if (known) return known;
		const body = parseMetadata(this.#metadata[index] ?? Buffer.alloc(0));
		const text = body.string("path");
		if (text === "") throw new ExecdError(400, "INVALID_FILE_METADATA", "metadata path is empty");
		const given = fromText(text);
		const ownership = ownershipOf(readPermission(body), this.#names);
		const place = await saying(runtimeError(`error opening destination file ${text}`), () =>
			placeOf(toTheLetter(given, this.#options.around)),
		);
		if (place.present?.isDirectory() || text.endsWith("/"))
			throw new ExecdError(500, "RUNTIME_ERROR", `error opening destination file ${text}. it is a directory`);
		const target = { given, place, ownership };
		this.#targets.set(index, target);
		return target;
	}
}

/** Strictly one JSON object. */
function parseMetadata(bytes: Buffer): Body {
	try {
		const value: unknown = JSON.parse(bytes.toString("utf8"));
		if (typeof value !== "object" || Array.isArray(value)) throw new Error("it is not an object");
		const body = new Body(value ?? {});
		// Members of a wrong type are found here, where it is known whose fault they are.
		body.string("path");
		readPermission(body);
		return body;
	} catch (error) {
		throw invalidMetadata(error instanceof Error ? error.message : String(error));
	}
}

function invalidMetadata(why: string): ExecdError {
	return new ExecdError(400, "INVALID_FILE_METADATA", `invalid metadata format. ${why}`);
}
