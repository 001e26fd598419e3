/** Webhooks: addresses that are told what happens to sessions, each notice at least once, and marked when it is a repeat. */

export type WebhookRequest = {
	readonly url: string;
	/** What it is told of, by name. */
	readonly events: readonly string[];
	/** Of whose sessions; null for those of all workspaces. */
	readonly workspace: string | null;
	/** Of which of them: each is `key` or `key=value`, and all must hold. */
	readonly labels: readonly string[];
	/** Whether it may be told without TLS elsewhere than on this machine. */
	readonly allowsHttp: boolean;
};

export type Webhook = WebhookRequest & {
	readonly id: string;
	/** Milliseconds since the epoch, as all times. */
	readonly createdAt: number;
};

/** Something that a webhook is to be told, as its receiver gets it. */
export type Notice = {
	/** Those of one session are told in their order; null for one that is about none. */
	readonly session: string | null;
	readonly body: string;
	/** The same without what must not be written down, for a server that finds it after a restart. */
	readonly kept: string;
};

/** Where notices come from: one sequence, to any place of which a webhook can come back. */
export interface Notices {
	/** The place after everything so far. */
	readonly end: string;
	/** What happened after a place, then what is to come, each with the place after it; without a notice where the webhook is told none. */
	follow(
		webhook: Webhook,
		since: string,
		signal: AbortSignal,
	): AsyncIterable<{ readonly cursor: string; readonly notice: Notice | undefined }>;
	/** To try whether one gets there. */
	test(webhook: Webhook): Notice;
}

/** What became of one attempt. */
export type Outcome = {
	readonly isTaken: boolean;
	/** What the receiver answered; null if it did not. */
	readonly status: number | null;
	/** Why it was not taken, as a sentence. */
	readonly reason: string | null;
};

/** A notice on its way, or given up. */
export type Delivery = Notice & {
	/** The same in each attempt. */
	readonly id: string;
	/** How often it was sent; counted before it is, so that one whose outcome nobody saw counts as well. */
	readonly attempts: number;
	/** Why the last attempt failed; null before that. */
	readonly reason: string | null;
};

export type WebhookStatus = Webhook & {
	/** How many notices are on their way. */
	readonly waiting: number;
	/** How many were given up and are kept, and how many of those were dropped for newer ones. */
	readonly failed: number;
	readonly dropped: number;
	/** Why the last attempt failed; null once one was taken. */
	readonly problem: string | null;
};

/** Since the server started, but for those that wait. */
export type WebhookFigures = {
	/** Notices that were taken; attempts that were not; notices that were given up. */
	readonly delivered: number;
	readonly refused: number;
	readonly givenUp: number;
	readonly waiting: number;
};

export interface Webhooks {
	/** Begins to tell, for as long as the server runs. */
	serve(notices: Notices): void;
	/** Oldest first. */
	list(): readonly WebhookStatus[];
	get(id: string): WebhookStatus | undefined;
	/** On disk when it resolves; the secret is known only now. Refuses an address that may not be told. */
	add(request: WebhookRequest): Promise<{ readonly webhook: WebhookStatus; readonly secret: string }>;
	/** With all that it was to be told; false if there was none. */
	remove(id: string): Promise<boolean>;
	/** Those of a workspace that is deleted; their ids. */
	leaveWorkspace(workspace: string): Promise<readonly string[]>;
	/** Sends one notice, once. The three from here on reject with `not_found`. */
	test(id: string): Promise<Outcome>;
	/** Those that were given up, oldest first. */
	failed(id: string): Promise<readonly Delivery[]>;
	/** Sends those that were given up again, or one of them, as far as there is room; and those that wait, at once. */
	retry(id: string, delivery?: string): Promise<{ readonly retried: number; readonly left: number }>;
	readonly figures: WebhookFigures;
}
