/** The lines in which the feed is kept: what each says, and which lines are such ones at all. */

import Type from "typebox";
import type { FeedEvent } from "../../protocol/feed.ts";
import { validatorOf } from "../validation.ts";
import { feedEvent, feedSession } from "./feed-messages.ts";
import { nullable, offset } from "./schemas.ts";

/** More events than there ever are: a cursor has no more digits. */
const MOST_EVENTS = 10 ** 14;

/** What was told of a session so far, by which the next server knows what is news. */
export type Told = {
	readonly session: FeedEvent["session"];
	readonly exited: boolean;
	readonly ended: boolean;
	/** Of the last wait. */
	readonly episode: number;
	/** The number of its shell's last command. */
	readonly command: number;
	/** Silences of so many milliseconds, and where the output ended in the last of each; the newest few. */
	readonly quiet: readonly (readonly [quietMs: number, offset: number])[];
};

/** `after` is the number of the last event before it. */
export type Epoch = { readonly name: string; readonly after: number };

/** How far it is, which epochs there are, what was told of sessions, and what was asked that has not ended. */
export type Mark = {
	readonly last: number;
	readonly epochs: readonly Epoch[];
	readonly told: readonly Told[];
	readonly asked?: readonly FeedEvent[];
};

/** An event, with what was told of its session by then, if there is one. */
export type Entry = { readonly number: number; readonly event: FeedEvent; readonly told: Told | null };

const count = Type.Integer({ minimum: 0, maximum: MOST_EVENTS });
const told = Type.Object({
	session: feedSession,
	exited: Type.Boolean(),
	ended: Type.Boolean(),
	episode: Type.Integer(),
	command: Type.Integer(),
	quiet: Type.Array(Type.Tuple([Type.Integer(), offset])),
});
const mark = validatorOf(
	Type.Object({
		last: count,
		epochs: Type.Array(Type.Object({ name: Type.String({ pattern: "^[0-9a-z]+$" }), after: count })),
		told: Type.Array(told),
		asked: Type.Optional(Type.Array(feedEvent)),
	}),
);
const entry = validatorOf(Type.Object({ number: count, event: feedEvent, told: nullable(told) }));

/** Anybody may have written into a file. */
export function isLine(line: unknown): line is Mark | Entry {
	return entry().Check(line) || mark().Check(line);
}
