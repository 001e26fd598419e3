/** The open dialog; at most one at a time. */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import type { StartForm } from "./start-form.ts";

type Dialog =
	| { readonly kind: "start"; readonly form: StartForm }
	| { readonly kind: "kill"; readonly id: string }
	| { readonly kind: "rename"; readonly id: string }
	/** The actions of a session, next to the pressed element. */
	| { readonly kind: "menu"; readonly id: string; readonly at: { readonly x: number; readonly y: number } }
	| { readonly kind: "palette" }
	| { readonly kind: "keys" };

export class Dialogs {
	readonly #open = signal<Dialog | undefined>(undefined);

	get current(): ReadonlySignal<Dialog | undefined> {
		return this.#open;
	}

	open(dialog: Dialog): void {
		this.#open.value = dialog;
	}

	close(): void {
		this.#open.value = undefined;
	}
}
