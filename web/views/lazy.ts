/** Modules that are loaded on first use. */

import { type Signal, signal } from "@preact/signals-core";

/** `missing`: the server was upgraded, and the old module is gone. */
export type Lazy<Module> =
	| { readonly kind: "loading" | "missing" }
	| { readonly kind: "here"; readonly module: Module };

/** The returned function loads the module on the first call, and triggers a render when it is loaded. */
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
