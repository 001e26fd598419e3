/** Output as the server answers with it: what was asked for, and how the session stood after it, which is in headers. */

import { type ExitMessage, outputHeaders, type SessionState } from "../protocol/messages.ts";

export type OutputOptions = {
	/** How long to wait, in milliseconds, when there is nothing yet; the server caps it at a minute. */
	readonly wait?: number;
	/** How many bytes at most. */
	readonly limit?: number;
	readonly signal?: AbortSignal;
};

/** Output from an offset on, and how the session stood after it. */
export type Output = {
	readonly offset: number;
	readonly bytes: Uint8Array;
	/** Where to go on reading. */
	readonly next: number;
	readonly end: number;
	readonly state: SessionState;
	readonly exit: ExitMessage | null;
	/** Bytes that were asked for and are gone. */
	readonly gap: { readonly from: number; readonly to: number; readonly reason: string } | null;
	/** Nothing can follow. */
	readonly isLast: boolean;
};

export type TextOptions = OutputOptions & {
	/** How long the text may be, in bytes. */
	readonly max?: number;
	/** Without keys and tokens, as far as they are known by their form: for an agent. */
	readonly redact?: boolean;
};

/** Output as text. */
export type OutputText = Omit<Output, "bytes"> & {
	readonly text: string;
	/** Bytes that the text says nothing of. */
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
