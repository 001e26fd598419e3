/**
 * `POST /files/upload`: several files in one body, each with metadata.
 *
 * The whole body is received and all targets are checked before any target is changed, so a failed upload changes
 * nothing.
 */

import type { FastifyRequest } from "fastify";
import { ExecdError } from "../errors.ts";
import { Body } from "../request-body.ts";
import { directoryNear, resolveTarget, type TargetFile, writeAtomically } from "./atomic-write.ts";
import { absoluteLiteral, type BytePath, fromText, type PathContext, shown } from "./byte-path.ts";
import { runtimeError, withFileErrors } from "./errors.ts";
import { IdNames } from "./id-names.ts";
import { boundaryOf, readParts } from "./multipart.ts";
import { type Ownership, ownershipOf, readPermission } from "./permissions.ts";
import type { Spool, Spools } from "./spool.ts";

/**
 * Metadata of one file, kept in memory until the body is complete.
 * @limit metadata of a file in an upload | 400
 */
const MAX_METADATA_BYTES = 64 * 1024;
/**
 * Files in one body. Data about each is kept in memory until the last one has arrived.
 * @limit files in one upload | 400
 */
const MAX_FILES = 100_000;

type UploadOptions = { readonly around: PathContext; readonly spools: Spools };

export async function upload(request: FastifyRequest, options: UploadOptions): Promise<void> {
	const boundary = boundaryOf(request.headers["content-type"]);
	const received = new Received(options, await IdNames.read());
	try {
		// A refusal in the middle keeps the connection open, so that the client can read it.
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

/** Destination of one file. */
type Target = { readonly given: BytePath; readonly place: TargetFile; readonly ownership: Ownership };

/** The received part of a body. */
class Received {
	readonly #options: UploadOptions;
	readonly #names: IdNames;
	readonly #metadata: Buffer[] = [];
	/** Targets by the number of their metadata, once resolved. */
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
		if (this.#bytes > MAX_METADATA_BYTES) throw invalidMetadata(`longer than ${MAX_METADATA_BYTES} bytes`);
		this.#pieces.push(bytes);
	}

	async end(): Promise<void> {
		if (this.#part === "metadata") this.#metadata.push(Buffer.concat(this.#pieces));
		// Creates the file even if it is empty.
		if (this.#part === "file") await this.#file();
	}

	/** Checks everything, then writes one file after the other. */
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
			// Resolved again: the same file may occur twice.
			const now = await resolveTarget(place.path);
			await withFileErrors(runtimeError(`error writing file ${shown(given)}`), () =>
				writeAtomically(spool, now, { ownership, spools }),
			);
			await spool.dispose();
		}
	}

	async dispose(): Promise<void> {
		for (const spool of this.#spools) await spool.dispose();
	}

	/** Creates the spool beside its target if that is known. Invalid metadata is refused before the content is read. */
	async #file(): Promise<Spool> {
		const last = this.#spools.at(-1);
		if (this.#isFileOpen && last) return last;
		this.#isFileOpen = true;
		const index = this.#spools.length;
		const target = index < this.#metadata.length ? await this.#target(index) : undefined;
		const near = target && (await directoryNear(target.place));
		const isPrivate = target?.ownership.mode !== undefined || target?.place.present !== undefined;
		const what = target ? `error opening destination file ${shown(target.given)}` : "error receiving a file";
		const spool = await withFileErrors(runtimeError(what), () => this.#options.spools.create(near, isPrivate));
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
		const place = await withFileErrors(runtimeError(`error opening destination file ${text}`), () =>
			resolveTarget(absoluteLiteral(given, this.#options.around)),
		);
		if (place.present?.isDirectory() || text.endsWith("/"))
			throw new ExecdError(500, "RUNTIME_ERROR", `error opening destination file ${text}. is a directory`);
		const target = { given, place, ownership };
		this.#targets.set(index, target);
		return target;
	}
}

/** Parses exactly one JSON object. */
function parseMetadata(bytes: Buffer): Body {
	try {
		const value: unknown = JSON.parse(bytes.toString("utf8"));
		if (typeof value !== "object" || Array.isArray(value)) throw new Error("not an object");
		const body = new Body(value ?? {});
		// Members of the wrong type are reported here, with the metadata's error code.
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
