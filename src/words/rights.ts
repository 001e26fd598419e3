/** Rights to sessions: see them, act on them, or create and end them. */
export type Right = "read" | "operate" | "manage";

/**
 * The rights of a caller that may operate a session when its program reads a secret: type it, only request that a user
 * types it, or neither. It covers secret input only; see `docs/security.md`.
 */
export type SecretRight = (typeof secretRights)[number];
/** Each includes those before it. */
export const secretRights = ["none", "request", "type"] as const;
