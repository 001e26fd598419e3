/** The workspaces of a server: in memory to be asked, and each in a file of its own, `ID.json`, to outlive it. */

import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { SessionError } from "../core/errors.ts";
import { Bucket } from "../core/rate.ts";
import type { Task, TaskRequest, Workspace, WorkspaceRequest, Workspaces } from "../core/workspaces.ts";
import { JsonFile } from "../disk/json-file.ts";
import { isDirectory, isId, type Kept, parseRecord, toRecord } from "./record.ts";
import { findWithin } from "./roots.ts";

/** Each is a file that is read at every start of the server. */
const MAX_WORKSPACES = 1_000;
/** One workspace with its tasks on disk, which is written whole at every change: thousands of tasks. */
const MAX_FILE_BYTES = 1024 ** 2;
/** How many seconds' worth of starts may come at once. */
const BURST_S = 5;
const ENDING = ".json";

type StoredWorkspacesOptions = {
	/** Nothing else is in it. */
	readonly directory: string;
	/** Replaces a file, whole or not at all. */
	readonly write: (path: string, text: string) => Promise<void>;
	readonly clock: Clock;
};

type Entry = Kept & { readonly starts: Bucket };

export class StoredWorkspaces implements Workspaces {
	readonly #options: StoredWorkspacesOptions;
	readonly #entries = new Map<string, Entry>();
	#last: Promise<unknown> = Promise.resolve();

	private constructor(options: StoredWorkspacesOptions) {
		this.#options = options;
	}

	/** Rejects with `unsupported` when a file can't be understood, rather than to let go of what it limits. */
	static async open(options: StoredWorkspacesOptions): Promise<StoredWorkspaces> {
		const { directory } = options;
		await mkdir(directory, { recursive: true, mode: 0o700 });
		const store = new StoredWorkspaces(options);
		for (const name of (await readdir(directory)).sort()) {
			// What a crash left half written ends otherwise, and was never promised to anybody.
			if (!name.endsWith(ENDING)) continue;
			const id = name.slice(0, -ENDING.length);
			const path = join(directory, name);
			store.#set(parseRecord(await store.#file(id).read(), id, path));
		}
		return store;
	}

	get(id: string): Workspace | undefined {
		return this.#entries.get(id)?.workspace;
	}

	list(): readonly Workspace[] {
		return [...this.#entries.values()].map(({ workspace }) => workspace).sort((a, b) => (a.id < b.id ? -1 : 1));
	}

	task(workspace: string, id: string): Task | undefined {
		return this.#entries.get(workspace)?.tasks.get(id);
	}

	tasks(workspace: string): readonly Task[] {
		return [...(this.#entries.get(workspace)?.tasks.values() ?? [])].reverse();
	}

	countStart(id: string): number {
		return this.#entries.get(id)?.starts.take() ?? 0;
	}

	async admit(workspace: string, directory: string): Promise<string> {
		const { roots = [] } = this.get(workspace) ?? {};
		return roots.length === 0 ? directory : findWithin(roots, directory, this.#options.clock);
	}

	put(id: string, { name, roots, limits = {} }: WorkspaceRequest): Promise<Workspace> {
		checkId(id);
		for (const root of roots) checkDirectory("roots", root);
		return this.#change(async () => {
			const known = this.#entries.get(id);
			if (!known && this.#entries.size >= MAX_WORKSPACES) {
				throw new SessionError("limit_exceeded", `there are ${MAX_WORKSPACES} workspaces, which is all there may be`);
			}
			const createdAt = known?.workspace.createdAt ?? this.#options.clock.now();
			const workspace: Workspace = { id, name: name ?? null, roots: [...roots], limits: { ...limits }, createdAt };
			await this.#write({ workspace, tasks: known?.tasks ?? new Map() });
			return workspace;
		});
	}

	remove(id: string): Promise<boolean> {
		return this.#change(async () => {
			if (!this.#entries.has(id)) return false;
			await this.#file(id).remove();
			return this.#entries.delete(id);
		});
	}

	putTask(workspace: string, id: string, request: TaskRequest): Promise<Task> {
		checkId(id);
		checkDirectory("workDir", request.workDir);
		return this.#change(async () => {
			const entry = this.#entries.get(workspace);
			if (!entry) {
				throw new SessionError("not_found", `there is no workspace ${JSON.stringify(workspace)} to have tasks`, {
					hint: "the operator declares it with PUT /v1/workspaces/ID, or with hawser workspace set",
				});
			}
			const task: Task = {
				id,
				workspace,
				workDir: request.workDir,
				issueId: request.issueId ?? null,
				issueKey: request.issueKey ?? null,
				priorSessionId: request.priorSessionId ?? null,
				env: { ...request.env },
				createdAt: entry.tasks.get(id)?.createdAt ?? this.#options.clock.now(),
			};
			await this.#write({ ...entry, tasks: new Map(entry.tasks).set(id, task) });
			return task;
		});
	}

	removeTask(workspace: string, id: string): Promise<boolean> {
		return this.#change(async () => {
			const entry = this.#entries.get(workspace);
			if (!entry?.tasks.has(id)) return false;
			const tasks = new Map(entry.tasks);
			tasks.delete(id);
			await this.#write({ ...entry, tasks });
			return true;
		});
	}

	/** One after the other, so that each begins with what the one before has left; a failed one left everything as it was. */
	#change<T>(act: () => Promise<T>): Promise<T> {
		const changed = this.#last.then(act);
		this.#last = changed.catch(() => {});
		return changed;
	}

	/** First on disk, so that nobody relies on what a crash would undo. */
	async #write(kept: Kept): Promise<void> {
		const { id } = kept.workspace;
		const record = toRecord(kept);
		const bytes = Buffer.byteLength(JSON.stringify(record));
		if (bytes > MAX_FILE_BYTES) {
			throw new SessionError(
				"limit_exceeded",
				`workspace "${id}" would take ${bytes} bytes with its tasks, and may take ${MAX_FILE_BYTES}`,
				{ hint: "remove tasks that are over" },
			);
		}
		await this.#file(id).write(record);
		this.#set(kept);
	}

	#set({ workspace, tasks }: Kept): void {
		const perSecond = workspace.limits.startsPerSecond ?? 0;
		const known = this.#entries.get(workspace.id);
		const isSameRate = known?.workspace.limits.startsPerSecond === workspace.limits.startsPerSecond;
		const starts =
			known && isSameRate ? known.starts : new Bucket({ perSecond, burst: perSecond * BURST_S }, this.#options.clock);
		this.#entries.set(workspace.id, { workspace, tasks, starts });
	}

	#file(id: string): JsonFile {
		const { directory, write } = this.#options;
		return new JsonFile(join(directory, `${id}${ENDING}`), write);
	}
}

function checkId(id: string): void {
	if (isId(id)) return;
	throw new SessionError("invalid_argument", `${JSON.stringify(id.slice(0, 80))} can't be an id`, {
		hint: "ids are 1 to 64 of A-Z, a-z, 0-9, _ . -",
	});
}

function checkDirectory(what: string, path: string): void {
	if (isDirectory(path)) return;
	throw new SessionError("invalid_argument", `${what}: ${JSON.stringify(path)} is not an absolute path`);
}
