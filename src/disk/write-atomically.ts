import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

const ALL_PERMISSIONS = 0o7777;

/** As a file's status has them. */
type Permissions = { readonly mode: number; readonly uid: number; readonly gid: number };

/**
 * Replaces a file so that a crash leaves either the old or the new content. Without permissions, it is readable by its
 * owner only.
 */
export async function writeAtomically(path: string, text: string, permissions?: Permissions): Promise<void> {
	const temporary = `${path}.new`;
	try {
		const file = await open(temporary, "w", 0o600);
		try {
			await file.writeFile(text);
			if (permissions) await allow(file, permissions);
			await file.datasync();
		} finally {
			await file.close();
		}
		await rename(temporary, path);
	} catch (error) {
		// An incomplete file would take the space that a retry needs.
		await rm(temporary, { force: true }).catch(() => {});
		throw error;
	}
	await syncDirectory(dirname(path));
}

async function allow(file: FileHandle, { mode, uid, gid }: Permissions): Promise<void> {
	const own = await file.stat();
	// Only root can give a file to another user.
	if (own.uid !== uid || own.gid !== gid) await file.chown(uid, gid);
	await file.chmod(mode & ALL_PERMISSIONS);
}

/** Makes a created, renamed or deleted entry durable. */
export async function syncDirectory(path: string): Promise<void> {
	const directory = await open(path, "r");
	await directory.sync().finally(() => directory.close());
}
