/** All PTYs there are, in memory and in a file from which the next server has them again. */

import { SessionError } from "../../../core/errors.ts";
import type { Witness } from "../../../core/witness.ts";
import type { OpenSandboxOptions } from "../options.ts";
import { notFound, type PtyData, type PtyPart, PtyRecord } from "./record.ts";

/** The original has no limit; each costs little, but all of them are written whenever one changes. */
const MAX_RECORDS = 10_000;
const VERSION = 1;

export class PtyRecords {
	readonly #front: OpenSandboxOptions;
	readonly #report: (problem: unknown) => void;
	readonly #records = new Map<string, PtyRecord>();

	constructor(front: OpenSandboxOptions, report: (problem: unknown) => void) {
		this.#front = front;
		this.#report = report;
	}

	/** Takes in what an earlier server left; before anything else. */
	async load(): Promise<void> {
		for (const data of parse(await this.#front.records.read())) this.#add(data);
	}

	/** Starts nothing yet. */
	async create(asked: { readonly cwd: string; readonly command: string }): Promise<PtyRecord> {
		if (this.#records.size >= MAX_RECORDS)
			throw new SessionError("limit_exceeded", `there are ${MAX_RECORDS} PTYs, which is the limit`);
		const record = this.#add({ id: this.#front.newUuid(), ...asked, parts: [] });
		try {
			await this.#save();
		} catch (error) {
			this.#records.delete(record.id);
			throw error;
		}
		return record;
	}

	get(id: string): PtyRecord | undefined {
		return this.#records.get(id);
	}

	/** Ends the PTY, whatever runs on it, and forgets it; while that is not approved, or if it is not, all stays as it is. */
	async delete(record: PtyRecord, witness: Witness): Promise<void> {
		const allowed = await witness.allowedToEnd(() => record.sessions);
		// Another one may have deleted it meanwhile.
		if (!this.#records.delete(record.id)) throw notFound(record.id);
		record.close(allowed);
		await this.#save();
	}

	#add(data: PtyData): PtyRecord {
		const record = new PtyRecord(data, { front: this.#front, save: () => this.#save(), report: this.#report });
		this.#records.set(record.id, record);
		return record;
	}

	#save(): Promise<void> {
		const ptys = [...this.#records.values()].map(({ data }) => data);
		return this.#front.records.write({ version: VERSION, ptys });
	}
}

function parse(value: unknown): readonly PtyData[] {
	if (value === undefined) return [];
	const { version, ptys } = value as { version?: unknown; ptys?: unknown };
	if (version !== VERSION || !Array.isArray(ptys) || !ptys.every(isData))
		throw new SessionError("unsupported", `the records of PTYs have a form (${version}) that this version can't read`, {
			hint: "start the newer server again, or move opensandbox.json in the state directory away",
		});
	return ptys;
}

function isData(value: unknown): value is PtyData {
	const { id, cwd, command, parts } = value as Partial<Record<keyof PtyData, unknown>>;
	return [id, cwd, command].every((text) => typeof text === "string") && Array.isArray(parts) && parts.every(isPart);
}

function isPart(value: unknown): boolean {
	const { session, base } = value as Partial<Record<keyof PtyPart, unknown>>;
	return typeof session === "string" && typeof base === "number";
}
