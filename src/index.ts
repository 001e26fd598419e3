/** The server as a library: start it in your own process, or build on its parts. */

export type { Principal, Verify } from "./core/access.ts";
export type { Act, Receipt } from "./core/act.ts";
export { SessionError } from "./core/errors.ts";
export type { Event, Exit, Gap, Item, Size, Start, Stream } from "./core/event.ts";
export type { Lease } from "./core/lease.ts";
export type { FollowOptions, Session, SessionInfo, SessionSpec } from "./core/session.ts";
export type { Sessions } from "./core/sessions.ts";
export { type Config, loadConfig } from "./server/config.ts";
export { type Server, type ServerOptions, startServer } from "./server/server.ts";
