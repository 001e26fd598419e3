/** Attaches non-reactive code to an element for as long as it is in the page. */

import { noChange } from "lit-html";
import { AsyncDirective } from "lit-html/async-directive.js";
import { type DirectiveResult, directive, type ElementPart, type PartInfo, PartType } from "lit-html/directive.js";

/** Called when the element is in the page; returns its cleanup. A changed `key` runs the cleanup and mounts again. */
export type Mount<Key> = (element: HTMLElement, key: Key) => () => void;

class Mounted extends AsyncDirective {
	#end: (() => void) | undefined;
	#begin: (() => void) | undefined;
	#key: unknown;

	constructor(part: PartInfo) {
		super(part);
		if (part.type !== PartType.ELEMENT) throw new Error("invariant: mounted() must be used inside a tag");
	}

	render(_mount: Mount<never>, _key?: unknown): typeof noChange {
		return noChange;
	}

	override update({ element }: ElementPart, [mount, key]: [Mount<never>, unknown?]): typeof noChange {
		if (this.#begin && key === this.#key) return noChange;
		this.#key = key;
		this.#end?.();
		this.#begin = () => {
			this.#end = mount(element as HTMLElement, key as never);
		};
		// After the rendering: a detached element has no size and can't take focus.
		queueMicrotask(() => {
			if (this.isConnected && this.#key === key) this.#begin?.();
		});
		return noChange;
	}

	protected override disconnected(): void {
		this.#end?.();
		this.#end = undefined;
	}

	protected override reconnected(): void {
		this.#begin?.();
	}
}

/** `<div ${mounted((element) => { …; return () => … })}></div>` */
export const mounted: <Key>(mount: Mount<Key>, key?: Key) => DirectiveResult = directive(Mounted) as never;
