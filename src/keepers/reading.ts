/** Where one reader of a kept session stands, over all the links it needs. */

import type { Item, Start } from "../core/event.ts";
import type { FollowOptions } from "../core/session.ts";
import type { KeeperLink, LinkFollowOptions } from "./keeper-link.ts";

export class Reading {
	place: Promise<Start>;
	readonly options: LinkFollowOptions;
	#begun: AsyncGenerator<Item, void, void> | undefined;

	/** With a link it begins to read at once. */
	constructor(start: Start | Promise<Start>, link: KeeperLink | undefined, options: FollowOptions) {
		this.place = Promise.resolve(start);
		this.options = { ...options, onPlace: ({ seq }) => this.#stand({ seq }) };
		if (link && !(start instanceof Promise)) this.#begun = link.follow(start, this.options);
	}

	/** What was begun at the start; once. */
	takeBegun(): AsyncGenerator<Item, void, void> | undefined {
		const begun = this.#begun;
		this.#begun = undefined;
		return begun;
	}

	passed(item: Item): void {
		this.#stand({ seq: item.kind === "gap" ? item.nextSeq : item.seq + 1 });
	}

	#stand(place: Start): void {
		this.place = Promise.resolve(place);
	}
}
