/** The server as a library: start it in your own process, or build on its parts. */

export { SessionError } from "./core/errors.ts";
export type { Action, Receipt } from "./core/input/action.ts";
export type { FollowOptions } from "./core/log/cursor.ts";
export type { Event, Gap, Item, Start } from "./core/log/event.ts";
export type { Principal, Verify } from "./core/policy/access.ts";
export type { Lease } from "./core/session/lease.ts";
export type { Session } from "./core/session/session.ts";
export type { SessionInfo, SessionSpec } from "./core/session/session-info.ts";
export type { Sessions } from "./core/session/session-registry.ts";
export { type Config, loadConfig } from "./server/config.ts";
export { type Server, type ServerOptions, startServer } from "./server/server.ts";
export type { Exit, Size, Stream } from "./words/state.ts";
