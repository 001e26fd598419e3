/** Calls that end something, whatever the server's disk says to it. */

import type { NotDurable } from "../protocol/access.ts";
import type { Call, Transport } from "./transport.ts";

/** Something is over, in any case; and whether it would stay so if the server crashed now. */
export type Ended = { readonly isDurable: boolean };

export async function end(transport: Transport, call: Call): Promise<Ended> {
	const response = await transport.request(call);
	if (response.status === 204) return { isDurable: true };
	return { isDurable: ((await response.json()) as NotDurable).durable };
}
