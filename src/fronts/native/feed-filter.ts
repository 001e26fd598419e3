/** Which events of the feed somebody asks for. */

import type { FeedEvent, FeedType } from "../../protocol/feed.ts";
import { hasLabels } from "./labels.ts";

export type FeedFilter = {
	readonly type?: readonly FeedType[] | undefined;
	readonly workspace?: string | undefined;
	readonly task?: string | undefined;
	readonly name?: string | undefined;
	/** Each is `key` or `key=value`, and all must hold. */
	readonly label?: readonly string[] | undefined;
};

export function isWanted(event: FeedEvent, { type, workspace, task, name, label }: FeedFilter): boolean {
	const { session } = event;
	if (workspace !== undefined && session.workspace !== workspace) return false;
	if (task !== undefined && session.task !== task) return false;
	if (name !== undefined && session.name !== name) return false;
	if (label && !hasLabels(session.labels ?? {}, label)) return false;
	return !type || type.includes(event.type) || (type.includes("failed") && tellsFailure(event));
}

/** Its program did not end well by itself, or nobody knows how it ended. */
export function tellsFailure({ type, failed }: FeedEvent): boolean {
	return type === "lost" || failed === true;
}
