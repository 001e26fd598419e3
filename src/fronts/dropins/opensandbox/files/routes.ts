/** `/files` and `/directories`: access to the whole file system with the server's rights, like a program it runs. */

import { lstat, stat, unlink } from "node:fs/promises";
import { setImmediate } from "node:timers/promises";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { checkUnconfined } from "../../../../core/session/workspaces.ts";
import { auditedCallerOf, checkRight } from "../../../../http/caller.ts";
import { ExecdError, sendNothing } from "../errors.ts";
import { defaultPlacement, type OpenSandboxOptions } from "../options.ts";
import {
	asBody,
	asObject,
	discardRest,
	readValue,
	refusal,
	startBody,
	streamedBodies,
	streamedBody,
} from "../request-body.ts";
import {
	absolute,
	absoluteLiteral,
	type BytePath,
	baseOf,
	fromText,
	onDisk,
	type PathContext,
	shown,
} from "./byte-path.ts";
import { makeDirectory, removeTree } from "./directories.ts";
import { download } from "./download.ts";
import { codeOf, fileError, runtimeError, withFileErrors } from "./errors.ts";
import { type FileInfo, fileInfo } from "./file-info.ts";
import { parseGlob } from "./glob.ts";
import { IdNames } from "./id-names.ts";
import { move } from "./move.ts";
import { applyTo, type Ownership, ownershipOf, readPermission } from "./permissions.ts";
import { Query } from "./query.ts";
import { replaceIn } from "./replace.ts";
import { Spools } from "./spool.ts";
import { inBlocks, jsonArray, sendBlocks } from "./streamed-answer.ts";
import { upload } from "./upload.ts";
import { type Found, walk } from "./walk.ts";

/** Not `manage` in the door, which would count each POST as a start. */
const config = { policy: "operate" } as const;

export function addFiles(app: FastifyInstance, options: OpenSandboxOptions): void {
	const spools = new Spools(options.spoolDirectory, options.newUuid);
	const around = (): PathContext => ({ env: options.environment(), cwd: options.cwd });
	// A caller that may run programs could read and change these files anyway.
	const allow = async (request: FastifyRequest) => {
		checkRight(request, "manage", defaultPlacement);
		checkUnconfined(options.workspaces, defaultPlacement.workspace, { what: "a request about files", needs: "files" });
		const { method, url } = request.routeOptions;
		auditedCallerOf(request).record({ action: "files", method: `${method} ${url}` }, defaultPlacement);
	};

	app.register((scope, _, done) => {
		scope.addHook("preHandler", allow);
		addReading(scope, around);
		addChanging(scope, around, spools);
		done();
	});
	app.register((scope, _, done) => {
		streamedBodies(scope);
		scope.addHook("preParsing", allow);
		scope.post("/files/upload", { ...streamedBody, config }, async (request, reply) => {
			discardRest(request, reply);
			await upload(request, { around: around(), spools });
			return sendNothing(reply);
		});
		done();
	});
}

/** A function, because it copies all variables; called once per request. */
type Around = () => PathContext;

function addReading(app: FastifyInstance, around: Around): void {
	app.get("/files/info", { config }, async ({ url }) => {
		const names = await IdNames.read();
		const base = around();
		const infos: [string, FileInfo][] = [];
		for (const given of new Query(url).all("path")) {
			const path = absolute(given, base);
			const stats = await withFileErrors(fileError, () => lstat(onDisk(path), { bigint: true }));
			infos.push([shown(given), fileInfo(path, stats, names)]);
		}
		return Object.fromEntries(infos);
	});

	app.get("/files/search", { config }, async ({ url }, reply) => {
		const query = new Query(url);
		const root = absolute(query.path(), around());
		const glob = parseGlob(shown(query.one("pattern") ?? ("**" as BytePath)));
		await withFileErrors(fileError, () => lstat(onDisk(root)));
		const isWanted = ({ path, stats }: Found) => {
			if (stats.isDirectory()) return false;
			const below = glob.isPath ? path.slice(root.length).replace(/^\//, "") : baseOf(path);
			return glob.matches(shown(below as BytePath));
		};
		return sendFound(reply, found(root), isWanted);
	});

	app.get("/directories/list", { config }, async ({ url }, reply) => {
		const query = new Query(url);
		const given = query.path();
		const depth = query.integer("depth", 0) ?? 1;
		const root = absolute(given, around());
		const stats = await withFileErrors(fileError, () => lstat(onDisk(root)));
		if (stats.isSymbolicLink()) throw refusal(`path is a symbolic link, refusing to traverse: ${shown(root)}`);
		if (!stats.isDirectory()) throw refusal(`path is not a directory: ${shown(root)}`);
		return withFileErrors(runtimeError(`error listing directory ${shown(root)}`), () =>
			sendFound(reply, walk(root, depth), () => true),
		);
	});

	app.get("/files/download", { config }, (request, reply) =>
		download(request, reply, { query: new Query(request.url), around: around() }),
	);
}

/** Everything below a directory or a link to one; a file by itself. */
async function* found(root: BytePath): AsyncGenerator<Found, void, void> {
	const target = await stat(onDisk(root)).catch(() => undefined);
	if (target?.isDirectory()) yield* walk(root, Number.POSITIVE_INFINITY);
	else yield { path: root, stats: await lstat(onDisk(root), { bigint: true }) };
}

/** Time spent on one directory before other requests get a turn. */
const TURN_MS = 10;

async function sendFound(
	reply: FastifyReply,
	all: AsyncIterable<Found>,
	isWanted: (found: Found) => boolean,
): Promise<FastifyReply> {
	const names = await IdNames.read();
	const infos = async function* () {
		let since = performance.now();
		for await (const one of all) {
			if (isWanted(one)) yield fileInfo(one.path, one.stats, names);
			if (performance.now() - since < TURN_MS) continue;
			await setImmediate();
			since = performance.now();
		}
	};
	return sendBlocks(reply.type("application/json; charset=utf-8"), inBlocks(jsonArray(infos())));
}

function addChanging(app: FastifyInstance, around: Around, spools: Spools): void {
	app.post("/files/replace", { ...startBody, config }, async (request, reply) => {
		const items = entriesOf(request.body).map(([given, value]) => {
			const body = asBody(value);
			return { given, old: Buffer.from(body.string("old")), new: Buffer.from(body.string("new")) };
		});
		const counts: [string, { readonly replacedCount: number }][] = [];
		const base = around();
		for (const { given, ...replacement } of items) {
			const path = absolute(fromText(given), base);
			counts.push([given, { replacedCount: await replaceIn(path, replacement, spools) }]);
		}
		if (new Query(request.url).one("verbose") !== "true") return sendNothing(reply);
		return Object.fromEntries(counts);
	});

	app.post("/files/permissions", { ...startBody, config }, async (request, reply) => {
		const what = (given: string) => `error changing permissions for ${given}`;
		await withOwnerships(request.body, around(), what, applyTo);
		return sendNothing(reply);
	});

	app.post("/files/mv", { ...startBody, config }, async (request, reply) => {
		const value = readValue(request.body);
		if (!Array.isArray(value) && value !== null) throw refusal("the request body must be a JSON array");
		const items = (value ?? []).map((item: unknown) => {
			const body = asBody(item);
			return { src: fromText(body.string("src")), dest: fromText(body.string("dest")) };
		});
		const base = around();
		for (const { src, dest } of items) await move(absolute(src, base), absolute(dest, base));
		return sendNothing(reply);
	});

	app.delete("/files", { config }, async ({ url }, reply) => {
		const base = around();
		for (const given of new Query(url).all("path")) {
			await withFileErrors(runtimeError(`error removing file ${shown(given)}`), () => removeFile(given, base));
		}
		return sendNothing(reply);
	});

	app.post("/directories", { ...startBody, config }, async (request, reply) => {
		await withOwnerships(request.body, around(), () => "error accessing file", makeDirectory);
		return sendNothing(reply);
	});

	app.delete("/directories", { config }, async ({ url }, reply) => {
		const base = around();
		for (const given of new Query(url).all("path")) {
			if (given === "") continue;
			const path = absoluteLiteral(given, base);
			if (/^\/+$/.test(path)) throw refusal("the root directory can't be removed");
			if (/(^|\/)\.$/.test(path)) throw failure(`RemoveAll ${shown(given)}: invalid argument`);
			await withFileErrors(runtimeError(`error removing directory ${shown(given)}`), () => removeTree(path));
		}
		return sendNothing(reply);
	});
}

/** Calls `act` for each path of the body, in order, with the owner and mode to set there. */
async function withOwnerships(
	body: unknown,
	base: PathContext,
	what: (given: string) => string,
	act: (path: BytePath, ownership: Ownership) => Promise<void>,
): Promise<void> {
	const items = entriesOf(body).map(([given, value]) => ({ given, permission: readPermission(asBody(value)) }));
	const names = await IdNames.read();
	for (const { given, permission } of items) {
		await withFileErrors(runtimeError(what(given)), () =>
			act(absolute(fromText(given), base), ownershipOf(permission, names)),
		);
	}
}

async function removeFile(given: BytePath, around: PathContext): Promise<void> {
	const path = absolute(given, around);
	try {
		if ((await lstat(onDisk(path))).isDirectory())
			throw failure(`error removing file ${shown(given)}. path is a directory: ${shown(given)}`);
		await unlink(onDisk(path));
	} catch (error) {
		if (codeOf(error) !== "ENOENT") throw error;
	}
}

/** The members of a body that is a map, in the order sent. */
function entriesOf(raw: unknown): [name: string, value: unknown][] {
	return Object.entries(asObject(readValue(raw)));
}

function failure(message: string): ExecdError {
	return new ExecdError(500, "RUNTIME_ERROR", message);
}
