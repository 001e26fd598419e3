/** All PTYs, in memory and in a file for the next server. */

import { SessionError } from "../../../../core/errors.ts";
import type { AuditedCaller } from "../../../../core/policy/audited-caller.ts";
import type { OpenSandboxOptions } from "../options.ts";
import { defaultPlacement } from "../options.ts";
import { notFound, type PtyData, type PtyPart, PtyRecord, startOf } from "./record.ts";

/**
 * Each record is small, but all of them are written when one changes. The original has no limit.
 * @limit PTYs | 429
 */
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

	/** Loads the records of an earlier server. Called before anything else. */
	async load(): Promise<void> {
		for (const data of parse(await this.#front.records.read())) this.#add(data);
	}

	/** Creates a record without starting its program. Any caller may start the program later, so it is checked now. */
	async create(asked: { readonly cwd: string; readonly command: string }, witness: AuditedCaller): Promise<PtyRecord> {
		const data = { id: this.#front.newUuid(), ...asked };
		if (asked.cwd !== "" || asked.command !== "") {
			const { command: program, usual } = await startOf(data, "pty", this.#front);
			const place = { id: `pty:${data.id}`, name: null, ...defaultPlacement };
			await witness.checkStore({ place, program, script: "", usual });
		}
		if (this.#records.size >= MAX_RECORDS)
			throw new SessionError("limit_exceeded", `too many PTYs (limit ${MAX_RECORDS})`);
		const record = this.#add({ ...data, parts: [] });
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

	/** Ends and forgets the PTY. Nothing changes until the end is approved. */
	async delete(record: PtyRecord, witness: AuditedCaller): Promise<void> {
		const allowed = await witness.allowedToEnd(() => record.sessions);
		// Another request may have deleted it meanwhile.
		if (!this.#records.delete(record.id)) throw notFound(record.id);
		record.close(allowed);
		try {
			await this.#save();
		} catch (error) {
			// It is still on disk, so it must be possible to delete it again.
			this.#records.set(record.id, record);
			throw error;
		}
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
		throw new SessionError("unsupported", `cannot read opensandbox.json: unknown version ${version}`, {
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
