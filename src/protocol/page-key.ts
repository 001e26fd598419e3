/** The second half of a browser's credential, which only pages of the server's own origin can read. */

/** In which a page sends it with every request. */
export const pageKeyHeader = "hawser-key";
/** Under which the sign-in page leaves it in `localStorage`. */
export const pageKeyItem = "hawser-key";
