/** Those who want to be called when something happens, in the same turn. */
export class Listeners<Value> {
	readonly #listeners = new Set<(value: Value) => void>();

	/** Calls back until the returned function is called. */
	add(listener: (value: Value) => void): () => void {
		this.#listeners.add(listener);
		return () => this.#listeners.delete(listener);
	}

	tell(value: Value): void {
		for (const listener of this.#listeners) listener(value);
	}
}
