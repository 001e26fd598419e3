/** An output response: the bytes, and the session's state in headers. */

import { outputHeaders } from "../../api/messages.ts";
import type { ExitMessage, SessionState } from "../../api/types.ts";

export type OutputOptions = {
	/** How long to wait for output, in milliseconds; the server caps it at a minute. */
	readonly wait?: number;
	/** Maximum bytes. */
	readonly limit?: number;
	readonly signal?: AbortSignal;
};

/** Output from an offset on, and the session's state after it. */
export type Output = {
	readonly offset: number;
	readonly bytes: Uint8Array;
	/** Offset to continue at. */
	readonly next: number;
	readonly end: number;
	readonly state: SessionState;
	readonly exit: ExitMessage | null;
	/** Requested bytes that are no longer available. */
	readonly gap: { readonly from: number; readonly to: number; readonly reason: string } | null;
	/** No output can follow. */
	readonly isLast: boolean;
};

export type TextOptions = OutputOptions & {
	/** Maximum bytes of text. */
	readonly max?: number;
	/** Removes keys and tokens with a known format. */
	readonly redact?: boolean;
};

/** Output as text. */
export type OutputText = Omit<Output, "bytes"> & {
	readonly text: string;
	/** The bytes left out of the text. */
	readonly omitted: { readonly from: number; readonly to: number } | null;
};

export function toOutput(headers: Headers, bytes: Uint8Array): Output {
	const number = (name: string) => Number(headers.get(name) ?? 0);
	const next = number(outputHeaders.next);
	const end = number(outputHeaders.end);
	const state = (headers.get(outputHeaders.state) ?? "running") as SessionState;
	const exit = headers.get(outputHeaders.exit);
	const [, from, to, reason] = /from=(\d+), to=(\d+), reason=(\w+)/.exec(headers.get(outputHeaders.gap) ?? "") ?? [];
	return {
		offset: number(outputHeaders.offset),
		bytes,
		next,
		end,
		state,
		exit: exit === null ? null : (JSON.parse(exit) as ExitMessage),
		gap: reason === undefined ? null : { from: Number(from), to: Number(to), reason },
		isLast: (state === "closed" || state === "lost") && next >= end,
	};
}

export function toOutputText(headers: Headers, body: Uint8Array): OutputText {
	const { bytes, ...place } = toOutput(headers, body);
	const [, from, to] = /from=(\d+), to=(\d+)/.exec(headers.get(outputHeaders.omitted) ?? "") ?? [];
	const omitted = to === undefined ? null : { from: Number(from), to: Number(to) };
	return { ...place, text: new TextDecoder().decode(bytes), omitted };
}
