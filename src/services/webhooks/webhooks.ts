/** Webhooks: receivers of notices about sessions. Each notice is sent at least once, and repeats are marked. */

export type WebhookRequest = {
	readonly url: string;
	/** Names of the subscribed events. */
	readonly events: readonly string[];
	/** Workspace of the sessions; null for all workspaces. */
	readonly workspace: string | null;
	/** Labels of the sessions: each entry is `key` or `key=value`, and all must match. */
	readonly labels: readonly string[];
	/** Whether notices may be sent without TLS to other machines. */
	readonly allowsHttp: boolean;
};

export type Webhook = WebhookRequest & {
	readonly id: string;
	/** The principal that created or adopted it; null for webhooks of older servers, which belong to the operator. */
	readonly owner: string | null;
	/** Milliseconds since the epoch, as all times. */
	readonly createdAt: number;
};

/** A notice with its body as the receiver gets it. */
export type Notice = {
	/** Notices of one session are sent in order; null for a notice about no session. */
	readonly session: string | null;
	readonly body: string;
	/** The body without private text, stored on disk for retries after a restart. */
	readonly kept: string;
};

/** The source of notices: a sequence that a webhook can resume at any cursor. */
export interface Notices {
	/** The cursor after the newest event. */
	readonly end: string;
	/** Events after a cursor, then new ones, each with its cursor. The notice is undefined for an event that the webhook skips. */
	follow(
		webhook: Webhook,
		since: string,
		signal: AbortSignal,
	): AsyncIterable<{ readonly cursor: string; readonly notice: Notice | undefined }>;
	/** A test notice. */
	test(webhook: Webhook): Notice;
}

/** The outcome of one attempt. */
export type DeliveryOutcome = {
	readonly isTaken: boolean;
	/** Status of the answer; null without one. */
	readonly status: number | null;
	/** Why the attempt failed. */
	readonly reason: string | null;
};

/** A pending or failed notice. */
export type Delivery = Notice & {
	/** The same in all attempts. */
	readonly id: string;
	/** Number of attempts, counted before each, so that an attempt with an unknown outcome counts too. */
	readonly attempts: number;
	/** Why the last attempt failed; null before the first. */
	readonly reason: string | null;
};

/** The owner of a webhook, which stops when `revoked` aborts. */
export type WebhookOwner = { readonly id: string; readonly revoked: AbortSignal };

export type WebhookStatus = Webhook & {
	/** When its owner's credentials were revoked or expired. Nothing is sent after that. Null while it is active. */
	readonly stoppedAt: number | null;
	/** Whether an attempt went to a private address. Only the operator may see the outcome of those. */
	readonly wasPrivate: boolean;
	/** Number of pending notices. */
	readonly waiting: number;
	/** Number of failed notices that are kept, and of those that were dropped for newer ones. */
	readonly failed: number;
	readonly dropped: number;
	/** Why the last attempt failed; null after a success. */
	readonly problem: string | null;
};

/** Totals since the server started, except for `waiting`. */
export type WebhookFigures = {
	/** Successful attempts, failed attempts, and failed notices. */
	readonly delivered: number;
	readonly refused: number;
	readonly givenUp: number;
	readonly waiting: number;
};

export interface Webhooks {
	/** Starts sending for webhooks whose owners still exist. */
	serve(notices: Notices): void;
	/** Oldest first. */
	list(): readonly WebhookStatus[];
	get(id: string): WebhookStatus | undefined;
	/** Resolves once it is on disk. Only this answer contains the secret. Throws for an address that is not allowed. */
	add(
		request: WebhookRequest,
		owner: WebhookOwner,
	): Promise<{ readonly webhook: WebhookStatus; readonly secret: string }>;
	/** Changes the owner, and resumes a stopped webhook. Rejects with `not_found`. */
	adopt(id: string, owner: WebhookOwner): Promise<WebhookStatus>;
	/** Removes a webhook with its notices; false if there is none. */
	remove(id: string): Promise<boolean>;
	/** Removes the webhooks of a deleted workspace and returns their ids. */
	leaveWorkspace(workspace: string): Promise<readonly string[]>;
	/** Sends one test notice; "private" hides the outcome for a private address. This and the next two reject with `not_found`, and `test` and `retry` with `conflict` if the webhook has stopped. */
	test(id: string, hidesPrivate: boolean): Promise<DeliveryOutcome | "private">;
	/** Failed notices, oldest first. */
	failed(id: string): Promise<readonly Delivery[]>;
	/** Queues failed notices again, all or one, as far as there is room, and sends pending ones at once. */
	retry(id: string, delivery?: string): Promise<{ readonly retried: number; readonly left: number }>;
	readonly figures: WebhookFigures;
}
