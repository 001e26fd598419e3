/** What a method is: parameters that are decoded first, and an operation that runs only when the handshake allows it. */

/**
 * A method whose parameters have been decoded, ready to run; `signal` says that the connection is gone.
 */
export type Operation = (signal: AbortSignal) => Promise<unknown>;

/**
 * One entry of the table of methods. `prepare` decodes and does nothing else, so that bad parameters are refused
 * before the state of the handshake is looked at: unknown method, parameters, handshake, operation, in this order.
 */
export type Method = {
	/** What it belongs to; the word may stand in a refusal. */
	readonly family: string;
	readonly prepare: (params: unknown) => Operation;
};

/** The methods of one connection by the name they have on the wire. */
export type Methods = ReadonlyMap<string, Method>;

/** Hides the type of the parameters between `decode` and `run`, so that methods of all types fit in one table. */
export function method<Params>(definition: {
	readonly family: string;
	readonly decode: (params: unknown) => Params;
	readonly run: (params: Params, signal: AbortSignal) => Promise<unknown>;
}): Method {
	return {
		family: definition.family,
		prepare: (params) => {
			const decoded = definition.decode(params);
			return (signal) => definition.run(decoded, signal);
		},
	};
}
