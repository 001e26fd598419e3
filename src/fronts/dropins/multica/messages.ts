/** Frames of Multica's terminals: text messages with a JSON object `{type, payload}`. */

import { parseJson } from "../../../core/json-scan.ts";
import type { Gap } from "../../../core/log/event.ts";
import { defaultSize } from "../../../services/starts/request.ts";
import { isPrintable } from "../../../words/printable.ts";
import type { Exit, Size } from "../../../words/state.ts";
import type { ErrorCode } from "./errors.ts";

/**
 * Output per frame. As base64 it is far below the 1 MiB that the command-line client accepts.
 * @limit one frame of output | %, 44 KiB as text | it is cut
 */
const CHUNK_BYTES = 32 * 1024;
/** Limit for ids and reasons, which become labels, variables and log lines. */
const MAX_NAME_LENGTH = 256;
/** Longer than any token. */
const MAX_TOKEN_LENGTH = 16 * 1024;
/** The kernel stores sizes as 16-bit numbers. */
const MAX_CELLS = 65_535;

export type OpenPayload = {
	readonly request_id: string;
	readonly task_id: string;
	readonly workspace_id: string;
	readonly user_id: string;
	readonly issue_id: string;
	readonly prior_session_id: string;
	readonly size: Size;
};

export type ClientFrame =
	| { readonly type: "auth"; readonly token: string }
	| { readonly type: "terminal.open"; readonly payload: OpenPayload }
	/** An invalid open. Its request id is known, so the client gets an error. */
	| { readonly type: "wrong open"; readonly request_id: string; readonly fault: string }
	| { readonly type: "terminal.data"; readonly session: string; readonly bytes: Buffer }
	| { readonly type: "terminal.resize"; readonly session: string; readonly size: Size }
	| { readonly type: "terminal.close"; readonly session: string; readonly reason: string };

/** Undefined for unknown frames and fields of the wrong type, which are ignored silently. */
export function decodeFrame(data: Buffer): ClientFrame | undefined {
	const frame = parse(data);
	const payload = objectOf(frame?.payload);
	if (!frame || !payload) return undefined;
	const session = text(payload, "session_id");
	switch (frame.type) {
		case "auth": {
			const token = text(payload, "token", MAX_TOKEN_LENGTH);
			return token ? { type: "auth", token } : undefined;
		}
		case "terminal.open":
			return openOf(payload);
		case "terminal.data": {
			const bytes = bytesOf(payload.data_b64);
			return session === undefined || bytes === undefined ? undefined : { type: "terminal.data", session, bytes };
		}
		case "terminal.resize": {
			const size = sizeOf(payload);
			return session === undefined || size === undefined ? undefined : { type: "terminal.resize", session, size };
		}
		case "terminal.close": {
			const reason = text(payload, "reason");
			return session === undefined || reason === undefined ? undefined : { type: "terminal.close", session, reason };
		}
		default:
			return undefined;
	}
}

function openOf(payload: Record<string, unknown>): ClientFrame | undefined {
	const request_id = text(payload, "request_id");
	if (request_id === undefined) return undefined;
	const wrong = (fault: string): ClientFrame => ({ type: "wrong open", request_id, fault });
	const size = sizeOf({ cols: payload.cols ?? 0, rows: payload.rows ?? 0 });
	if (size === undefined) return wrong(`cols and rows must be whole numbers from 0 to ${MAX_CELLS}`);
	const names = { task_id: "", workspace_id: "", user_id: "", issue_id: "", prior_session_id: "" };
	for (const name of Object.keys(names) as (keyof typeof names)[]) {
		const value = text(payload, name);
		if (value === undefined || !isPrintable(value))
			return wrong(`${name} must be a text of up to ${MAX_NAME_LENGTH} characters, without control characters`);
		names[name] = value;
	}
	return { type: "terminal.open", payload: { request_id, ...names, size } };
}

/** A string, empty if absent; undefined for other types and for strings that are too long. */
function text(payload: Record<string, unknown>, name: string, maxLength = MAX_NAME_LENGTH): string | undefined {
	const value = payload[name] ?? "";
	return typeof value === "string" && value.length <= maxLength ? value : undefined;
}

/** Zero selects the default of that dimension. */
function sizeOf({ cols, rows }: Record<string, unknown>): Size | undefined {
	if (!isCells(cols) || !isCells(rows)) return undefined;
	return { cols: cols || defaultSize.cols, rows: rows || defaultSize.rows };
}

function isCells(value: unknown): value is number {
	return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= MAX_CELLS;
}

/** Strict base64 with padding. */
function bytesOf(value: unknown): Buffer | undefined {
	if (typeof value !== "string" || value.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(value)) return undefined;
	return Buffer.from(value, "base64");
}

function parse(data: Buffer): Record<string, unknown> | undefined {
	try {
		return objectOf(parseJson(data.toString()));
	} catch {
		return undefined;
	}
}

function objectOf(value: unknown): Record<string, unknown> | undefined {
	return typeof value === "object" && value !== null && !Array.isArray(value)
		? (value as Record<string, unknown>)
		: undefined;
}

export const authAck: string = JSON.stringify({ type: "auth_ack" });

type OpenedPayload = {
	readonly request_id: string;
	readonly session_id: string;
	readonly work_dir: string;
	readonly shell: string;
	/** Absent for a new shell. */
	readonly resumed?: true;
};

export function openedFrame(payload: OpenedPayload): string {
	return frame("terminal.opened", { ...payload, work_dir: visible(payload.work_dir) });
}

/** Splits output into frames, each with its offset. */
export function* dataFrames(session: string, offset: number, bytes: Uint8Array): Generator<string> {
	for (let at = 0; at < bytes.byteLength; at += CHUNK_BYTES) {
		const data = Buffer.from(bytes.subarray(at, at + CHUNK_BYTES)).toString("base64");
		yield frame("terminal.data", { session_id: session, data_b64: data, offset: offset + at });
	}
}

export function closeFrame(session: string, reason: string): string {
	return frame("terminal.close", { session_id: session, reason });
}

export function gapFrame(session: string, { from, to, reason }: Gap): string {
	return frame("terminal.gap", { session_id: session, from, to, reason });
}

/** The exit code is -1 for a program that was ended by a signal. */
export function exitFrame(session: string, exit: Exit | undefined, reason: string): string {
	const signal = exit?.signal ?? undefined;
	return frame("terminal.exit", { session_id: session, exit_code: exit?.code ?? -1, reason: visible(reason), signal });
}

export type ErrorPlace = { readonly request_id?: string; readonly session_id?: string };

/** With `isLogin` the message is also in `error`, where the command-line client looks during login. */
export function errorFrame(code: ErrorCode, message: string, place: ErrorPlace = {}, isLogin = false): string {
	const shown = visible(message);
	const payload = { ...place, code, message: shown };
	return JSON.stringify({ type: "terminal.error", payload, ...(isLogin ? { error: shown } : {}) });
}

function frame(type: string, payload: object): string {
	return JSON.stringify({ type, payload });
}

/** The panel prints these texts into its terminal unchanged, so control characters are removed. */
function visible(text: string): string {
	return text.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, "");
}
