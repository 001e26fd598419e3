/** Texts that differ between the two method families (contract §2.2, §2.9 to §2.12, §6.1). */

export type FamilyText = {
	/** The output notification, and its member that names the program. */
	readonly delta: "command/exec/outputDelta" | "process/outputDelta";
	readonly idMember: "processId" | "processHandle";
	readonly unknown: (id: string) => string;
	readonly duplicate: (id: string) => string;
	readonly over: (id: string) => string;
	readonly noStdin: string;
	readonly emptyWrite: string;
	readonly emptySize: string;
	readonly sizeWithoutTty: string;
	readonly negativeTimeout: (ms: number) => string;
	readonly notSpawned: string;
};

/** Names come from the client, so they are shown as JSON strings. */
const quoted = JSON.stringify;

export const commandWording: FamilyText = {
	delta: "command/exec/outputDelta",
	idMember: "processId",
	unknown: (id) => `no active command/exec for process id ${quoted(id)}`,
	duplicate: (id) => `duplicate active command/exec process id: ${quoted(id)}`,
	over: (id) => `command/exec ${quoted(id)} is no longer running`,
	noStdin: "stdin streaming is not enabled for this command/exec",
	emptyWrite: "command/exec/write requires deltaBase64 or closeStdin",
	emptySize: "command/exec size rows and cols must be greater than 0",
	sizeWithoutTty: "command/exec size requires tty: true",
	negativeTimeout: (ms) => `command/exec timeoutMs must be non-negative, got ${ms}`,
	notSpawned: "failed to spawn command",
};

export const processWording: FamilyText = {
	delta: "process/outputDelta",
	idMember: "processHandle",
	unknown: (id) => `no active process for process handle ${quoted(id)}`,
	duplicate: (id) => `duplicate active process handle: ${quoted(id)}`,
	over: (id) => `process ${quoted(id)} is no longer running`,
	noStdin: "stdin streaming is not enabled for this process",
	emptyWrite: "process/writeStdin requires deltaBase64 or closeStdin",
	emptySize: "process size rows and cols must be greater than 0",
	sizeWithoutTty: "process/spawn size requires tty: true",
	negativeTimeout: (ms) => `process/spawn timeoutMs must be non-negative, got ${ms}`,
	notSpawned: "failed to spawn process",
};
