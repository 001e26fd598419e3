/** Callbacks that are called synchronously when something happens. */
export class Listeners<Value> {
	readonly #listeners = new Set<(value: Value) => void>();

	/** Registers a listener. The returned function removes it. */
	add(listener: (value: Value) => void): () => void {
		this.#listeners.add(listener);
		return () => this.#listeners.delete(listener);
	}

	notify(value: Value): void {
		for (const listener of this.#listeners) listener(value);
	}
}
