/** The second half of a browser's credential, which only pages of the server's own origin can read. */

/** Header in which a page sends it with every request. */
export const pageKeyHeader = "hawser-key";
/** Key in `localStorage` under which the sign-in page stores it. */
export const pageKeyItem = "hawser-key";
