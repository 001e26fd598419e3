/** `hawser/client`: the SDK for Node and browsers. */

export { isFailure } from "../api/attention.ts";
export type {
	Activity,
	ActivityMessage,
	AgentChild,
	AgentExplanation,
	AgentKind,
	AgentMessage,
	AgentState,
	ApprovalMessage,
	AskSecret,
	AttachedMessage,
	AuditList,
	AuditMessage,
	CommandList,
	CreatedLink,
	CreatedTicket,
	CreatedToken,
	CreatedWebhook,
	CreateLink,
	CreateSession,
	CreateTicket,
	CreateToken,
	CreateWebhook,
	DecideApproval,
	ErrorCode,
	ExitMessage,
	FailedList,
	FailedNotice,
	FeedEvent,
	FeedType,
	GateMessage,
	Health,
	Info,
	InputReceipt,
	LeaseMessage,
	LinkMessage,
	Me,
	Overview,
	ProgramState,
	PutTask,
	PutWorkspace,
	QueuedPrompt,
	RecordingFormat,
	RequiredSandbox,
	RetriedWebhook,
	RunAnswer,
	SandboxLimits,
	SandboxMessage,
	ScreenMessage,
	ScreenRunMessage,
	ScreenStyleMessage,
	ScrollbackMessage,
	SearchMatch,
	SecretRequestMessage,
	SecretRight,
	SendAnswer,
	SendInput,
	SessionLease,
	SessionMessage,
	SessionState,
	ShellCommand,
	SignedIn,
	SignIn,
	SignInLink,
	SizePolicy,
	TakeLease,
	TaskMessage,
	TokenMessage,
	Waiting,
	WebhookEvent,
	WebhookMessage,
	WebhookNotice,
	WebhookTest,
	WorkspaceLimits,
	WorkspaceMessage,
} from "../api/types.ts";
export { showUnseen } from "../words/printable.ts";
export type { Attachment, AttachOptions, RequestOptions } from "./attach/attachment.ts";
export type { AttachmentEvent, ConnectionEvent } from "./attach/event-queue.ts";
export type { TakeOptions } from "./attach/lease-state.ts";
export { ReplyRanges } from "./attach/reply-ranges.ts";
export type { Ticket, WebSocketConstructor, WebSocketLike } from "./attach/websocket.ts";
export {
	answerDialog,
	answerInput,
	answerPrompt,
	type DialogAnswer,
	type OpenDialog,
	type PendingPrompt,
} from "./attention/answer.ts";
export { approvalTitle, decideApproval, hasOutputSince, withPendingStarts } from "./attention/approvals.ts";
export {
	agentLabel,
	agentText,
	callerName,
	childLabel,
	childrenLabel,
	commandText,
	endLabel,
	failureLabel,
	needSummary,
} from "./attention/labels.ts";
export { type LiveConnection, LiveSessions, type LiveSessionsOptions } from "./attention/live-sessions.ts";
export {
	compareNeeds,
	dismissalKey,
	isActive,
	isEnded,
	lastActiveAt,
	type Need,
	type NeedContext,
	needOf,
	type SessionInfo,
	type SessionNeed,
} from "./attention/needs.ts";
export {
	groupSessions,
	keepOrder,
	matchesFilter,
	type SessionFilter,
	type SessionGroups,
	searchWords,
} from "./attention/session-groups.ts";
export {
	type AuditFilter,
	type Client,
	type CreateOptions,
	connect,
	type ImportOptions,
	type ListFilter,
} from "./client.ts";
export { HawserError } from "./errors.ts";
export type { ResumableOptions } from "./http/resumable-request.ts";
export type { ConnectionTimeouts } from "./http/retries.ts";
export type { RevokeResult } from "./http/revocation.ts";
export type { ConnectOptions, ServerAddress } from "./http/transport.ts";
export type { SendRequest } from "./input/send-request.ts";
export type { AnswerOptions, SecretOptions, SessionActOptions, WriteOptions } from "./input/session-input.ts";
export { type FollowOptions, follow } from "./output/follow.ts";
export { offsetsOf } from "./output/offsets.ts";
export type { Output, OutputOptions, OutputText, TextOptions } from "./output/output.ts";
export type { RunOptions, RunRequest, RunResult } from "./output/run.ts";
export type { AgentCondition, ScreenCondition, WaitCondition, WaitOptions, WaitResult } from "./output/wait.ts";
export type { FeedConnection, FeedItem, FeedOptions } from "./resources/feed.ts";
export type { WebhooksClient } from "./resources/webhooks.ts";
export type { TasksClient, WorkspacesClient } from "./resources/workspaces.ts";
export type {
	AtOptions,
	ScreenChangesOptions,
	ScreenOptions,
	ScreenText,
	ScreenTextOptions,
	ScrollbackOptions,
} from "./screen/screen-changes.ts";
export type { ScreenStream, ScreenStreamItem, ScreenStreamOptions, StyledScreen } from "./screen/screen-stream.ts";
export type {
	ActivityOptions,
	ExecOptions,
	ExecOutput,
	KillOptions,
	LoadedSession,
	RecordingOptions,
	SearchOptions,
	Session,
} from "./session.ts";
