/** Parts of the pages that are loaded when they are needed first. */

import { type Signal, signal } from "@preact/signals-core";

/** `missing`: the server has another version by now, and what we would load is gone. */
export type Lazy<Module> =
	| { readonly kind: "loading" | "missing" }
	| { readonly kind: "here"; readonly module: Module };

/** The returned function loads it when it is asked first; whoever draws with it is drawn again when it has come. */
export function lazy<Module>(load: () => Promise<Module>): () => Lazy<Module> {
	let state: Signal<Lazy<Module>> | undefined;
	return () => {
		if (!state) {
			const loading = signal<Lazy<Module>>({ kind: "loading" });
			state = loading;
			load().then(
				(module) => {
					loading.value = { kind: "here", module };
				},
				() => {
					loading.value = { kind: "missing" };
				},
			);
		}
		return state.value;
	};
}
