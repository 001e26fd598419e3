/** Reads files of the built web UI, compressed as the browser accepts. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";

export type BuiltFile = {
	readonly type: string;
	readonly encoding: string | undefined;
	readonly content: Buffer;
};

const types: Readonly<Record<string, string>> = {
	html: "text/html; charset=utf-8",
	js: "text/javascript; charset=utf-8",
	css: "text/css; charset=utf-8",
	svg: "image/svg+xml",
	png: "image/png",
	webmanifest: "application/manifest+json",
};

/** Allowed file names: at most one folder, no dot files. */
const NAME = /^(?:[a-z]+\/)?[\w-][\w.-]*\.([a-z]+)$/;

/** In order of preference. */
const encodings = [
	["br", ".br"],
	["gzip", ".gz"],
] as const;

/** Undefined if there is no such file. */
export async function readBuilt(directory: string, name: string, accepted: string): Promise<BuiltFile | undefined> {
	const type = types[NAME.exec(name)?.[1] ?? ""];
	if (type === undefined) return undefined;
	for (const [encoding, ending] of encodings.filter(([encoding]) => takes(accepted, encoding))) {
		const content = await readIfThere(join(directory, `${name}${ending}`));
		if (content) return { type, encoding, content };
	}
	const content = await readIfThere(join(directory, name));
	return content && { type, encoding: undefined, content };
}

/** Whether `Accept-Encoding` allows an encoding. A weight of zero forbids it. */
function takes(accepted: string, encoding: string): boolean {
	return accepted.split(",").some((offer) => {
		const [name = "", weight = ""] = offer.split(";").map((part) => part.trim().toLowerCase());
		return name === encoding && !/^q=0(\.0*)?$/.test(weight);
	});
}

async function readIfThere(path: string): Promise<Buffer | undefined> {
	try {
		return await readFile(path);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
		throw error;
	}
}
