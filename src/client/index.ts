/** `hawser/client`: the SDK for Node and browsers. */

export type {
	CreateSession,
	ErrorCode,
	ExitMessage,
	InputReceipt,
	SessionMessage,
	SessionState,
} from "../protocol/messages.ts";
export { type Client, connect, type ListFilter } from "./client.ts";
export { HawserError } from "./error.ts";
export { type FollowOptions, follow } from "./follow.ts";
export type { KillOptions, Output, OutputOptions, Session, WriteOptions } from "./session.ts";
export type { Address, ConnectOptions } from "./transport.ts";
