/** Errors of the server and of the connection. */

import type { AgentMessage, ErrorCode, ErrorMessage } from "../api/types.ts";
export class HawserError extends Error {
	readonly code: ErrorCode;
	/** How to fix it, if the message does not say so. */
	readonly hint: string | undefined;
	/** The HTTP status; undefined without a response. */
	readonly status: number | undefined;

	/** The request was refused by a rate limit and had no effect. It may succeed after this time. */
	readonly retryAfterMs: number | undefined;

	/** With `blocked`: the agent and its open dialog. */
	readonly agent: AgentMessage | undefined;

	constructor(
		code: ErrorCode,
		message: string,
		options: { hint?: string; status?: number; retryAfterMs?: number; agent?: AgentMessage; cause?: unknown } = {},
	) {
		super(message, { cause: options.cause });
		this.name = "HawserError";
		this.code = code;
		this.hint = options.hint;
		this.status = options.status;
		this.retryAfterMs = options.retryAfterMs;
		this.agent = options.agent;
	}

	/** Whether a retry may help: the server is unreachable or shutting down, or a rate limit applied. */
	get isTemporary(): boolean {
		return this.code === "node_unavailable" || this.retryAfterMs !== undefined;
	}
}

/**
 * Whether the error is a bug in the calling program or in the SDK, which would happen again. Network failures never
 * are, and neither is a SyntaxError: it comes from an answer that is not JSON, such as a proxy's page.
 */
export function isProgrammingError(error: unknown): error is Error {
	if (error instanceof ReferenceError || error instanceof RangeError) return true;
	// `fetch` also throws TypeError for network failures, with a different message in each browser.
	return error instanceof TypeError && /illegal invocation|is not a |undefined|null|invalid/i.test(error.message);
}

/** The error in a response. A response that is not from a Hawser server may contain anything. */
export async function errorFromResponse(response: Response): Promise<HawserError> {
	const { status } = response;
	const body: unknown = await response.json().catch(() => undefined);
	if (!isErrorMessage(body)) return notFromHawser(status);
	const { code, message, hint, retryAfterMs, agent } = body.error;
	return new HawserError(code, message, {
		status,
		...(hint === undefined ? {} : { hint }),
		...(typeof retryAfterMs === "number" ? { retryAfterMs } : {}),
		...(agent === undefined ? {} : { agent }),
	});
}

/** The answer of a server of another kind. */
export function notFromHawser(status: number): HawserError {
	const hint = "check the address: this answer is not from a Hawser server";
	return new HawserError("internal", `the server answered with status ${status}`, { status, hint });
}

function isErrorMessage(body: unknown): body is ErrorMessage {
	const error = typeof body === "object" && body !== null && "error" in body ? body.error : undefined;
	return typeof error === "object" && error !== null && "code" in error && "message" in error;
}
