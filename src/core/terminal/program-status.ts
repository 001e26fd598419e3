/**
 * The Program Status Protocol (OSC 7501, revision 0.3): reports by which programs tell a terminal what they do.
 *
 * A terminal keeps one record per id. A report is checked as a whole before it replaces a record. Text in records comes
 * from programs and is untrusted.
 */

import type { AgentState } from "../../words/agent.ts";
import type { SequenceRange } from "./sequence-reader.ts";

/**
 * Records of one terminal. Programs may rely on 64.
 * @limit records of program status (OSC 7501) of a terminal | the least recently updated one is dropped
 */
export const MAX_RECORDS = 256;
/**
 * A whole sequence, from ESC to the end of its terminator.
 * @limit a report of program status (OSC 7501) | it is ignored
 */
const SEQUENCE_BYTES = 4096;
const KEY_BYTES = 16;
const APP_BYTES = 32;
const ID_BYTES = 128;
const ID_LEVELS = 8;
const TITLE_LIMITS = { encoded: 256, decoded: 192 };
const MESSAGE_LIMITS = { encoded: 2732, decoded: 2048 };

export type StatusKind = "permission" | "question" | "auth";

/** A record. The root record has the id "". */
export type StatusRecord = {
	readonly id: string;
	readonly state: AgentState;
	/** With `blocked`. */
	readonly kind: StatusKind | null;
	readonly progress: number | null;
	/** As reported; see `appOf`. */
	readonly app: string | null;
	readonly title: string | null;
	readonly message: string | null;
	/** Offset in the output of the report that began this state; see `continued`. */
	readonly offset: number;
	/** When it came, in milliseconds since the epoch. */
	readonly at: number;
	/** The foreground process group at that time; null if unknown. */
	readonly foreground: number | null;
};

type Report = Pick<StatusRecord, "id" | "kind" | "progress" | "app" | "title" | "message"> & {
	readonly state: AgentState | "clear";
};

/** The state that the hooks of an agent have reported, and the offset of the report that has repeated it last. */
export type HookRecord = StatusRecord & { readonly latest: number };

/** A report of a hook: it is about the agent as a whole. */
export type HookReport = Pick<Report, "state" | "kind" | "message"> & { readonly app: string };

const BODY = /^\u001b\]7501;(.*)$/s;
const KEY = /^[a-z]+$/;
const VALUE = /^[A-Za-z0-9_.,+/=-]*$/;
const NAME = /^[A-Za-z0-9_.+-]{1,32}$/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const CONTROLS = /[\u0000-\u001f\u007f-\u009f]/;
const STATES: ReadonlySet<string> = new Set(["idle", "working", "done", "blocked", "error", "clear"]);
const KINDS: ReadonlySet<string> = new Set(["permission", "question", "auth"]);

export class StatusRecords {
	/** By id, the least recently updated first. */
	readonly #records = new Map<string, StatusRecord>();

	/** All records, the least recently updated first. */
	get all(): readonly StatusRecord[] {
		return [...this.#records.values()];
	}

	get isEmpty(): boolean {
		return this.#records.size === 0;
	}

	/**
	 * Takes an OSC string, one character per byte, without its terminator. False if no record has changed: it is another
	 * sequence, or a report that is ignored.
	 */
	take(text: string, { offset, end }: SequenceRange, moment: Pick<StatusRecord, "at" | "foreground">): boolean {
		const [, body] = BODY.exec(text) ?? [];
		if (body === undefined || end - offset > SEQUENCE_BYTES) return false;
		const report = parseReport(body);
		if (!report) return false;
		const { state, id, ...rest } = report;
		if (state === "clear") return this.#clear(id);
		const record = continued(this.#records.get(id), { ...rest, id, state, offset, ...moment });
		// Moves it to the end.
		this.#records.delete(id);
		this.#records.set(id, record);
		if (this.#records.size > MAX_RECORDS) this.#records.delete(this.#records.keys().next().value ?? "");
		return true;
	}

	/** The programs that reported have ended: only results remain. False if no record has changed. */
	endPrograms(): boolean {
		return this.#remove(({ state }) => state !== "done" && state !== "error");
	}

	/** A full reset. */
	reset(): boolean {
		return this.#remove(() => true);
	}

	#clear(id: string): boolean {
		return this.#remove((record) => id === "" || record.id === id || record.id.startsWith(`${id}/`));
	}

	#remove(isGone: (record: StatusRecord) => boolean): boolean {
		const before = this.#records.size;
		for (const record of this.#records.values()) if (isGone(record)) this.#records.delete(record.id);
		return this.#records.size < before;
	}
}

/** A record that repeats a state, perhaps with other progress, began with it. Each question is a state of its own. */
function continued(before: StatusRecord | null | undefined, record: StatusRecord): StatusRecord {
	const { state, kind, message, foreground } = record;
	const isSame = before?.state === state && before.kind === kind && before.foreground === foreground;
	if (!isSame || (state === "blocked" && before.message !== message)) return record;
	return { ...record, offset: before.offset, at: before.at };
}

/** The record of an agent after a report of its hook. */
export function hookRecord(
	before: HookRecord | null,
	report: HookReport,
	moment: Pick<StatusRecord, "offset" | "at" | "foreground">,
): HookRecord | null {
	const { state, kind, message, app } = report;
	if (state === "clear") return null;
	const same = before?.app === app ? before : null;
	const record = { id: "", state, kind, message, app, progress: null, title: null, ...moment };
	return { ...continued(same, record), latest: moment.offset };
}

/** The program that a record is about: the nearest one named by the record or by those above it. */
export function appOf(records: readonly StatusRecord[], id: string): string | null {
	for (let own = id; ; own = own.slice(0, Math.max(0, own.lastIndexOf("/")))) {
		const app = records.find((record) => record.id === own)?.app;
		if (app) return app;
		if (own === "") return null;
	}
}

/** The report that makes a terminal have this record. */
export function reportOf({ id, state, kind, progress, app, title, message }: StatusRecord): string {
	const encoded = (text: string | null) => (text === null ? null : Buffer.from(text).toString("base64"));
	const pairs = { state, id: id || null, kind, progress, app, title: encoded(title), msg: encoded(message) };
	const known = Object.entries(pairs).filter(([, value]) => value !== null);
	return `\u001b]7501;${known.map(([key, value]) => `${key}=${value}`).join(":")}\u001b\\`;
}

/** Undefined for a report that is ignored as a whole. `body` has one character per byte. */
function parseReport(body: string): Report | undefined {
	const values = new Map<string, string>();
	for (const pair of body.split(":")) {
		const equals = pair.indexOf("=");
		if (equals < 0) continue;
		const key = pair.slice(0, equals).trim();
		const value = pair.slice(equals + 1).trim();
		if (key.length > KEY_BYTES) return undefined;
		// Skipped like other malformed pairs, a bad id would make this a report about the root record.
		if (key === "id" && !isId(value)) return undefined;
		if (!KEY.test(key) || !VALUE.test(value)) continue;
		// Also of a pair that a later one replaces.
		if (isTooLong(key, value)) return undefined;
		values.set(key, value);
	}
	const state = values.get("state") ?? "";
	const title = textOf(values.get("title"), TITLE_LIMITS.decoded);
	const message = textOf(values.get("msg"), MESSAGE_LIMITS.decoded);
	if (!STATES.has(state) || title === undefined || message === undefined) return undefined;
	const kind = values.get("kind") ?? "";
	const app = values.get("app") ?? "";
	return {
		id: values.get("id") ?? "",
		state: state as Report["state"],
		kind: state === "blocked" && KINDS.has(kind) ? (kind as StatusKind) : null,
		progress: state === "blocked" || state === "working" ? progressOf(values.get("progress")) : null,
		app: NAME.test(app) ? app : null,
		title,
		message,
	};
}

function isId(value: string): boolean {
	const levels = value.split("/");
	return value.length <= ID_BYTES && levels.length <= ID_LEVELS && levels.every((level) => NAME.test(level));
}

function isTooLong(key: string, { length }: string): boolean {
	if (key === "app") return length > APP_BYTES;
	if (key === "title") return length > TITLE_LIMITS.encoded;
	return key === "msg" && length > MESSAGE_LIMITS.encoded;
}

function progressOf(value = ""): number | null {
	const isNumber = /^\d+$/.test(value) && Number(value) <= 100;
	return isNumber ? Number(value) : null;
}

/** Null without text; undefined for text that makes its report ignored. */
function textOf(encoded: string | undefined, maxBytes: number): string | null | undefined {
	if (!encoded) return null;
	const isPadded = encoded.endsWith("=");
	const hasLength = isPadded ? encoded.length % 4 === 0 : encoded.length % 4 !== 1;
	if (!BASE64.test(encoded) || !hasLength) return undefined;
	const bytes = Buffer.from(encoded, "base64");
	if (bytes.byteLength > maxBytes) return undefined;
	try {
		const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
		return CONTROLS.test(text) ? undefined : text;
	} catch {
		return undefined;
	}
}
