/** A session that passes everything on to another one. Its subclasses change what `ask` does. */

import type { Receipt } from "../input/action.ts";
import type { FollowOptions } from "../log/cursor.ts";
import type { Item, Start } from "../log/event.ts";
import type { State } from "../log/session-state.ts";
import type { ReplySource, SelfReplyRange } from "../terminal/replies.ts";
import { Session, type SessionSummary } from "./session.ts";
import type { SessionInfo } from "./session-info.ts";

export abstract class WrappedSession extends Session {
	protected readonly session: Session;

	constructor(session: Session) {
		super(session.spec);
		this.session = session;
	}

	get gone(): Promise<void> {
		return this.session.gone;
	}

	get state(): State {
		return this.session.state;
	}

	watch(listener: (state: State) => void): () => void {
		return this.session.watch(listener);
	}

	follow(start: Start, options?: FollowOptions): AsyncIterable<Item> {
		return this.session.follow(start, options);
	}

	receipts(stream: string, signal?: AbortSignal): AsyncIterable<Receipt> {
		return this.session.receipts(stream, signal);
	}

	override info(): Promise<SessionInfo> {
		return this.session.info();
	}

	override summary(timeoutMs?: number): Promise<SessionSummary> {
		return this.session.summary(timeoutMs);
	}

	override delegateReplies(by: ReplySource, onOwn: (part: SelfReplyRange) => void): Promise<number> {
		return this.session.delegateReplies(by, onOwn);
	}
}
