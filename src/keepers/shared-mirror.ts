/** The one mirror of a kept session that all who only watch it share; there is one as long as somebody reads. */

import { follow } from "../core/cursor.ts";
import type { Item, Start } from "../core/event.ts";
import type { FollowOptions } from "../core/session.ts";
import type { KeeperLink } from "./keeper-link.ts";
import { Mirror } from "./mirror.ts";

export class SharedMirror {
	#open: { readonly link: KeeperLink; readonly mirror: Promise<Mirror>; readers: number } | undefined;

	/** Over this link: after another, those who still read over that one keep theirs until they have left. */
	async *follow(link: KeeperLink, place: Start, options: FollowOptions): AsyncGenerator<Item, void, void> {
		if (this.#open?.link !== link) this.#open = { link, mirror: Mirror.open(link), readers: 0 };
		const shared = this.#open;
		shared.readers++;
		let leave = () => {};
		try {
			const mirror = await shared.mirror;
			// It may not have come yet to where this reader wants to begin.
			if (shared.readers > 1) await mirror.reached(await link.ask<"end">({ do: "end" }), options.signal);
			// A flood waits for those who look at it, and not for us.
			if (!options.isOwn) leave = mirror.join();
			yield* follow(mirror, place, options);
		} finally {
			leave();
			if (--shared.readers === 0) {
				if (this.#open === shared) this.#open = undefined;
				shared.mirror.then(
					(mirror) => mirror.close(),
					() => {},
				);
			}
		}
	}
}
