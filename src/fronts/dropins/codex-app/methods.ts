/** A method decodes its parameters first and runs once the handshake allows it. */

/** A request with decoded parameters. */
export type Operation = {
	/** The feature that requires the experimental API, if any. */
	readonly experimental?: string | undefined;
	/** Requests with the same key run in order. */
	readonly key?: string | undefined;
	/** `pass` starts the next request with this key before this one is answered. */
	readonly run: (pass: () => void) => Promise<unknown>;
	/** Called when the answer was sent or can't be. Later messages may follow then. */
	readonly answered?: () => void;
};

/** Only decodes, so that invalid parameters are refused before the handshake's state is checked. */
export type Method = (params: unknown) => Operation;

export type Methods = ReadonlyMap<string, Method>;
