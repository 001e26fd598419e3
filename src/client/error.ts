/** What a server refused, or why it could not be reached. */

import type { ErrorCode, ErrorMessage } from "../protocol/messages.ts";

export class HawserError extends Error {
	readonly code: ErrorCode;
	/** What to do about it, where the message does not already say so. */
	readonly hint: string | undefined;
	/** The HTTP status; undefined when there was no answer. */
	readonly status: number | undefined;

	constructor(code: ErrorCode, message: string, options: { hint?: string; status?: number; cause?: unknown } = {}) {
		super(message, { cause: options.cause });
		this.name = "HawserError";
		this.code = code;
		this.hint = options.hint;
		this.status = options.status;
	}

	/** Whether it is worth trying again: the server was not there, or was on its way out. */
	get isTemporary(): boolean {
		return this.code === "node_unavailable";
	}
}

/** Whether a request failed by a mistake in the program that makes it, ours included, and so would fail again: no outage looks like that. */
export function isMistake(error: unknown): error is Error {
	if (error instanceof ReferenceError || error instanceof RangeError || error instanceof SyntaxError) return true;
	// What `fetch` says of the network is a TypeError as well, in other words in each browser.
	return error instanceof TypeError && /illegal invocation|is not a |undefined|null|invalid/i.test(error.message);
}

/** Reads the error out of an answer; something that is not our server may have sent anything. */
export async function errorOf(response: Response): Promise<HawserError> {
	const { status } = response;
	const body: unknown = await response.json().catch(() => undefined);
	if (!isErrorMessage(body))
		return new HawserError("internal", `the server answered with status ${status}`, { status });
	const { code, message, hint } = body.error;
	return new HawserError(code, message, { status, ...(hint === undefined ? {} : { hint }) });
}

function isErrorMessage(body: unknown): body is ErrorMessage {
	const error = typeof body === "object" && body !== null && "error" in body ? body.error : undefined;
	return typeof error === "object" && error !== null && "code" in error && "message" in error;
}
