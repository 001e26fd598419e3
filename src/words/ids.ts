/**
 * Names of workspaces and tasks. They appear in scopes, file names and URLs, where `.` and `..` have another meaning.
 */
export const idPattern = "^(?!\\.{1,2}$)[A-Za-z0-9_.-]{1,64}$";
