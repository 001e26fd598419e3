/** A method decodes its parameters first and runs once the handshake allows it. */

/** A method with decoded parameters, ready to run. `signal` aborts when the connection is over. */
type Operation = (signal: AbortSignal) => Promise<unknown>;

/**
 * An entry of the method table. `prepare` only decodes, so that errors are found in this order: method, parameters,
 * handshake, operation.
 */
export type Method = {
	/** The family's name, which appears in errors. */
	readonly family: string;
	readonly prepare: (params: unknown) => Operation;
};

/** The methods of one connection, by name. */
export type Methods = ReadonlyMap<string, Method>;

/** Hides the parameter type between `decode` and `run`, so that all methods fit in one table. */
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
