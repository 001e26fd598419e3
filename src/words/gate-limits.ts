/** Limits of a gate. */

/**
 * One day.
 * @limit the timeout of a gate | 400 `invalid_argument`
 */
export const MAX_GATE_TIMEOUT_MS: number = 24 * 60 * 60_000;
/**
 * Expressions per gate. Every line is matched against all of them.
 * @limit expressions of a gate | 400 `invalid_argument`
 */
export const MAX_EXPRESSIONS = 32;
/** @limit an expression of a gate | 400 `invalid_argument` */
export const MAX_EXPRESSION_LENGTH = 200;
