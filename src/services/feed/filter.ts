/** Matches feed events against a caller's filter. */

import type { FeedEvent, FeedType } from "../../api/types.ts";
import { matchesLabels } from "../../core/session/labels.ts";

export type FeedFilter = {
	readonly type?: readonly FeedType[] | undefined;
	readonly workspace?: string | undefined;
	readonly task?: string | undefined;
	readonly name?: string | undefined;
	/** Each entry is `key` or `key=value`; all must match. */
	readonly label?: readonly string[] | undefined;
};

export function matchesFilter(event: FeedEvent, { type, workspace, task, name, label }: FeedFilter): boolean {
	const { session } = event;
	if (workspace !== undefined && session.workspace !== workspace) return false;
	if (task !== undefined && session.task !== task) return false;
	if (name !== undefined && session.name !== name) return false;
	if (label && !matchesLabels(session.labels ?? {}, label)) return false;
	return !type || type.includes(event.type) || (type.includes("failed") && isFailureEvent(event));
}

/** The program failed, or its exit is unknown. */
export function isFailureEvent({ type, failed }: FeedEvent): boolean {
	return type === "lost" || failed === true;
}
