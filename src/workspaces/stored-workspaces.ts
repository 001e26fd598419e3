/** The workspaces of a server, in memory and each in a file `ID.json`. */

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { Serial } from "../async/serial.ts";
import type { Clock } from "../core/async/clock.ts";
import { RateLimiter } from "../core/async/rate-limit.ts";
import { SessionError } from "../core/errors.ts";
import type { ConfiningPolicy } from "../core/process/sandbox-policy.ts";
import type { Owner, Task, TaskRequest, Workspace, WorkspaceRequest, Workspaces } from "../core/session/workspaces.ts";
import { JsonFile } from "../disk/json-file.ts";
import { makePrivateDirectory } from "../disk/private-directory.ts";
import { isDirectory, isId, parseRecord, type StoredWorkspace, toRecord } from "./workspace-record.ts";
import { resolveWithinRoots } from "./workspace-roots.ts";

/**
 * Each is a file that is read at every start of the server.
 * @limit declared workspaces | `limit_exceeded`
 */
const MAX_WORKSPACES = 1_000;
/**
 * One workspace with its tasks on disk, rewritten at every change. Enough for thousands of tasks.
 * @limit one workspace on disk, with its tasks | `limit_exceeded`
 */
const MAX_FILE_BYTES = 1024 ** 2;
/** Burst of starts, in seconds' worth of the rate. */
const BURST_S = 5;
const ENDING = ".json";

type StoredWorkspacesOptions = {
	/** A directory that contains nothing else. */
	readonly directory: string;
	/** Replaces a file atomically. */
	readonly write: (path: string, text: string) => Promise<void>;
	readonly clock: Clock;
};

type Entry = StoredWorkspace & { readonly starts: RateLimiter };

export class StoredWorkspaces implements Workspaces {
	readonly #options: StoredWorkspacesOptions;
	readonly #entries = new Map<string, Entry>();
	/** Changes run one after another, so that each sees the result of the previous one. */
	readonly #changes = new Serial();

	private constructor(options: StoredWorkspacesOptions) {
		this.#options = options;
	}

	/** Rejects with `unsupported` if a file is invalid, rather than drop the limits that it declares. */
	static async open(options: StoredWorkspacesOptions): Promise<StoredWorkspaces> {
		const { directory } = options;
		await makePrivateDirectory(directory);
		const store = new StoredWorkspaces(options);
		for (const name of (await readdir(directory)).sort()) {
			// Incomplete writes have another suffix. Their requests never got an answer.
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

	async resolveDirectory(workspace: string, directory: string): Promise<string> {
		const { roots = [] } = this.get(workspace) ?? {};
		return roots.length === 0 ? directory : resolveWithinRoots(roots, directory, this.#options.clock);
	}

	put(id: string, { name, roots, limits = {}, sandbox }: WorkspaceRequest): Promise<Workspace> {
		checkId(id);
		for (const root of roots) checkDirectory("roots", root);
		const required = sandbox === undefined ? null : requiredOf(sandbox, roots);
		return this.#changes.run(async () => {
			const known = this.#entries.get(id);
			if (!known && this.#entries.size >= MAX_WORKSPACES) {
				throw new SessionError("limit_exceeded", `too many workspaces (limit ${MAX_WORKSPACES})`);
			}
			const createdAt = known?.workspace.createdAt ?? this.#options.clock.now();
			const declared = { name: name ?? null, roots: [...roots], limits: { ...limits }, sandbox: required };
			const workspace: Workspace = { id, ...declared, createdAt };
			await this.#write({ workspace, tasks: known?.tasks ?? new Map() });
			return workspace;
		});
	}

	remove(id: string): Promise<boolean> {
		return this.#changes.run(async () => {
			if (!this.#entries.has(id)) return false;
			await this.#file(id).remove();
			return this.#entries.delete(id);
		});
	}

	putTask(workspace: string, id: string, request: TaskRequest, owner: Owner): Promise<Task> {
		checkId(id);
		checkDirectory("workDir", request.workDir);
		return this.#changes.run(async () => {
			const entry = this.#entries.get(workspace);
			if (!entry) {
				throw new SessionError("not_found", `there is no workspace ${JSON.stringify(workspace)}`, {
					hint: "the operator declares it with PUT /v1/workspaces/ID, or with hawser workspace set",
				});
			}
			const known = entry.tasks.get(id);
			if (known) owner.check(known.owner);
			const task: Task = {
				id,
				workspace,
				workDir: request.workDir,
				issueId: request.issueId ?? null,
				issueKey: request.issueKey ?? null,
				priorSessionId: request.priorSessionId ?? null,
				env: { ...request.env },
				owner: owner.id,
				createdAt: known?.createdAt ?? this.#options.clock.now(),
			};
			await this.#write({ ...entry, tasks: new Map(entry.tasks).set(id, task) });
			return task;
		});
	}

	removeTask(workspace: string, id: string, owner: Owner): Promise<boolean> {
		return this.#changes.run(async () => {
			const entry = this.#entries.get(workspace);
			const task = entry?.tasks.get(id);
			if (!entry || !task) return false;
			owner.check(task.owner);
			const tasks = new Map(entry.tasks);
			tasks.delete(id);
			await this.#write({ ...entry, tasks });
			return true;
		});
	}

	/** On disk first, so that a crash can't undo a confirmed change. */
	async #write(kept: StoredWorkspace): Promise<void> {
		const { id } = kept.workspace;
		const record = toRecord(kept);
		const bytes = Buffer.byteLength(JSON.stringify(record));
		if (bytes > MAX_FILE_BYTES) {
			throw new SessionError(
				"limit_exceeded",
				`workspace "${id}" with its tasks is too large: ${bytes} bytes (limit ${MAX_FILE_BYTES})`,
				{ hint: "remove old tasks" },
			);
		}
		await this.#file(id).write(record);
		this.#set(kept);
	}

	#set({ workspace, tasks }: StoredWorkspace): void {
		const perSecond = workspace.limits.startsPerSecond ?? 0;
		const known = this.#entries.get(workspace.id);
		const isSameRate = known?.workspace.limits.startsPerSecond === workspace.limits.startsPerSecond;
		const starts =
			known && isSameRate
				? known.starts
				: new RateLimiter({ perSecond, burst: perSecond * BURST_S }, this.#options.clock);
		this.#entries.set(workspace.id, { workspace, tasks, starts });
	}

	#file(id: string): JsonFile {
		const { directory, write } = this.#options;
		return new JsonFile(join(directory, `${id}${ENDING}`), write);
	}
}

/**
 * The part of a policy that must not depend on the caller: directory and TMPDIR are chosen by the caller, so neither
 * may become writable.
 */
function requiredOf(policy: ConfiningPolicy, roots: readonly string[]): ConfiningPolicy {
	if (policy.type !== "workspaceWrite") return policy;
	const { writableRoots = roots } = policy;
	if (writableRoots.length > 0) return { ...policy, writableRoots: [...writableRoots], excludeTmpdirEnvVar: true };
	throw new SessionError("invalid_argument", 'a required sandbox of type "workspaceWrite" needs writable roots', {
		hint: "set writableRoots, or declare roots of the workspace",
	});
}

function checkId(id: string): void {
	if (isId(id)) return;
	throw new SessionError("invalid_argument", `${JSON.stringify(id.slice(0, 80))} is not a valid id`, {
		hint: "ids are 1 to 64 of A-Z, a-z, 0-9, _ . -",
	});
}

function checkDirectory(what: string, path: string): void {
	if (isDirectory(path)) return;
	throw new SessionError("invalid_argument", `${what}: ${JSON.stringify(path)} is not an absolute path`);
}
