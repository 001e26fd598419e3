/** The files of a record. */

import { type LineFile, lineFileIn, listLineFiles } from "../disk/line-files.ts";

const NAME = "audit";

export function fileIn(directory: string, number: number): LineFile {
	return lineFileIn(directory, NAME, number);
}

/** Oldest first; none in a directory that is not there. */
export function listFiles(directory: string): Promise<LineFile[]> {
	return listLineFiles(directory, NAME);
}
