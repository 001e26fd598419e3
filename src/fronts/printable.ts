/** Which texts are fit for names and labels: they are shown in lists, logs and terminals as they are. */

/** No control characters, no line ends, and nothing that changes the direction of what follows. */
export const PRINTABLE = "^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028-\\u202e\\u2066-\\u2069]*$";
