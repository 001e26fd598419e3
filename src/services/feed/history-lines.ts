/** Lines of the feed's history file, and their validation. */

import { feedEvent, feedSession } from "../../api/schema/feed.ts";
import { boolean, count, integer, list, nullable, object, offset, optional, string } from "../../api/schema/fields.ts";
import { validatorOf } from "../../api/schema/validator.ts";
import type { FeedEvent } from "../../api/types.ts";

/** Upper bound for event numbers; cursors have at most 15 digits. */
const MOST_EVENTS = 10 ** 14;

/** The last reported state of a session. The next server compares with it to find news. */
export type ReportedState = {
	readonly session: FeedEvent["session"];
	readonly exited: boolean;
	readonly ended: boolean;
	/** The episode of the last reported wait. */
	readonly episode: number;
	/** The last reported state of its agent. */
	readonly agent?: ReportedAgent | null;
	/** The number of the last reported shell command. */
	readonly command: number;
	/** The newest quiet periods: their length and the output offset at which they were reported. */
	readonly quiet: readonly (readonly [quietMs: number, offset: number])[];
};

type ReportedAgent = { readonly episode: number; readonly state: string };

/** One server's run of event numbers; `after` is the last number before it. */
export type Epoch = { readonly name: string; readonly after: number };

/** Summary of the lines before it: the last event number, epochs, reported states and open requests. */
export type HistoryHead = {
	readonly last: number;
	readonly epochs: readonly Epoch[];
	readonly told: readonly ReportedState[];
	readonly asked?: readonly FeedEvent[];
};

/** An event, with the reported state of its session after it. */
export type HistoryEvent = { readonly number: number; readonly event: FeedEvent; readonly told: ReportedState | null };

const number = integer(0, MOST_EVENTS);
const told = object({
	session: feedSession,
	exited: boolean,
	ended: boolean,
	episode: count,
	agent: optional(nullable(object({ episode: count, state: string() }))),
	command: count,
	quiet: list({ type: "array", prefixItems: [count, offset], items: false, minItems: 2 }),
});
const mark = validatorOf(
	object({
		last: number,
		epochs: list(object({ name: string({ pattern: "^[0-9a-z]+$" }), after: number })),
		told: list(told),
		asked: optional(list(feedEvent)),
	}),
);
const entry = validatorOf(object({ number, event: feedEvent, told: nullable(told) }));

/** Validates a line read from disk, where anything may have been written. */
export function isLine(line: unknown): line is HistoryHead | HistoryEvent {
	return entry().Check(line) || mark().Check(line);
}
