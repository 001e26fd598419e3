/** `hawser/client`: the SDK for Node and browsers. */

export type {
	CreatedLink,
	CreatedTicket,
	CreatedToken,
	CreateLink,
	CreateTicket,
	CreateToken,
	GateMessage,
	LinkMessage,
	SecretRight,
	SignedIn,
	SignIn,
	SignInLink,
	TokenMessage,
} from "../protocol/access.ts";
export type {
	CommandList,
	InputReceipt,
	RunAnswer,
	SendAnswer,
	SendInput,
	SessionLease,
	ShellCommand,
	TakeLease,
} from "../protocol/acts.ts";
export type { ApprovalMessage, AskSecret, DecideApproval, SecretRequestMessage } from "../protocol/asking.ts";
export type { Activity, FeedEvent, FeedType, ProgramState } from "../protocol/feed.ts";
export type {
	AttachedMessage,
	AuditList,
	AuditMessage,
	CreateSession,
	ErrorCode,
	ExitMessage,
	Health,
	Info,
	Me,
	Overview,
	SandboxLimits,
	SandboxMessage,
	SessionMessage,
	SessionState,
	SizePolicy,
	Waiting,
} from "../protocol/messages.ts";
export { isFailure } from "../protocol/needs.ts";
export type { ActivityMessage, RecordingFormat, SearchMatch } from "../protocol/past.ts";
export { showUnseen } from "../protocol/printable.ts";
export type { ScreenMessage, ScreenRunMessage, ScreenStyleMessage, ScrollbackMessage } from "../protocol/screens.ts";
export type { LeaseMessage } from "../protocol/socket.ts";
export type {
	CreatedWebhook,
	CreateWebhook,
	FailedList,
	FailedNotice,
	RetriedWebhook,
	WebhookEvent,
	WebhookMessage,
	WebhookNotice,
	WebhookTest,
} from "../protocol/webhooks.ts";
export type { PutTask, PutWorkspace, TaskMessage, WorkspaceLimits, WorkspaceMessage } from "../protocol/workspaces.ts";
export { giveAnswer, type Question, typed } from "./answer.ts";
export type { ActOptions, Attachment, AttachOptions } from "./attachment.ts";
export {
	byUrgency,
	type Circumstances,
	dismissalOf,
	isActive,
	isEnded,
	type Listed,
	lastActive,
	type Need,
	type Needing,
	needOf,
} from "./attention.ts";
export {
	type AuditFilter,
	type Client,
	type CreateOptions,
	connect,
	type ImportOptions,
	type ListFilter,
} from "./client.ts";
export type { TakeOptions } from "./control.ts";
export type { Ended } from "./ended.ts";
export { HawserError } from "./error.ts";
export type { AttachmentEvent, ConnectionEvent } from "./event-queue.ts";
export type { FeedConnection, FeedItem, FeedOptions } from "./feed.ts";
export { type FollowOptions, follow } from "./follow.ts";
export { type Grouped, grouped, heldInOrder, matches, type Wanted, wordsOf } from "./grouped.ts";
export { decideHeld, hasChangedSince, wantsSentence, withAwaited } from "./held.ts";
export type { LastingOptions } from "./lasting-call.ts";
export { type LiveConnection, LiveSessions, type LiveSessionsOptions } from "./live-sessions.ts";
export type { Output, OutputOptions, OutputText, TextOptions } from "./output.ts";
export { ReplyTurns } from "./reply-turns.ts";
export type { RunOptions, RunRequest, RunResult } from "./run.ts";
export type {
	EarlierOptions,
	ScreenChangesOptions,
	ScreenOptions,
	ScreenTextOptions,
	ScrollbackOptions,
	WholeScreen,
} from "./screen.ts";
export type { Screens, ScreensItem, ScreensOptions, TileScreen } from "./screens.ts";
export type { SendRequest } from "./send-request.ts";
export type {
	ActivityOptions,
	ExecOptions,
	ExecOutput,
	KillOptions,
	KnownSession,
	RecordingOptions,
	SearchOptions,
	Session,
} from "./session.ts";
export type { AnswerOptions, SecretOptions, SessionActOptions, WriteOptions } from "./session-input.ts";
export type { Times } from "./times.ts";
export type { Address, ConnectOptions } from "./transport.ts";
export type { ScreenCondition, WaitCondition, WaitOptions, WaitResult } from "./wait.ts";
export type { Ticket, WebSocketConstructor, WebSocketLike } from "./web-socket.ts";
export type { WebhooksClient } from "./webhooks.ts";
export { callerName, failureWord, needingSentence, shortEnd, typedLine } from "./words.ts";
export type { TasksClient, WorkspacesClient } from "./workspaces.ts";
