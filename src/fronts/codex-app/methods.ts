/** What a method of this wire is: parameters that are decoded first, and the rest when the handshake allows it. */

/** A request whose parameters have been decoded. */
export type Operation = {
	/** What of it only clients with the experimental API may use. */
	readonly experimental?: string | undefined;
	/** Requests with the same key are dealt with in their order. */
	readonly key?: string | undefined;
	/** `pass` lets the next request with this key have its turn, before this one is answered. */
	readonly run: (pass: () => void) => Promise<unknown>;
	/** Called when the answer is out, or can't be: what must come after it may come now. */
	readonly answered?: () => void;
};

/** Decodes and does nothing else, so that bad parameters are refused before the state of the handshake is looked at. */
export type Method = (params: unknown) => Operation;

export type Methods = ReadonlyMap<string, Method>;
