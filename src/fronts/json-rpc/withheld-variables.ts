/** Variables that hold the identity of a Codex server. They are never passed to a program, in any spelling. */

const withheld: ReadonlySet<string> = new Set([
	"CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN",
	"NODE_REPL_AUTH_TOKEN",
	"OPENAI_FEDERATION_RULE_ID",
	"OPENAI_IDENTITY_TOKEN_FILE",
	"OPENAI_WORKLOAD_IDENTITY_CONTEXT",
]);

export function isWithheld(name: string): boolean {
	return withheld.has(name.toUpperCase());
}
