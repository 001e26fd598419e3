/** Operations that end a credential at once, even if the server's disk fails. */

import type { CallOptions, OperationName, Transport } from "./transport.ts";

/** The credential has ended. `isDurable` is false if it would be valid again after a crash of the server now. */
export type RevokeResult = { readonly isDurable: boolean };

export async function revoke<Name extends OperationName>(
	transport: Transport,
	name: Name,
	options: CallOptions<Name>,
): Promise<RevokeResult> {
	const response = await transport.open(name, options);
	return { isDurable: response.status === 204 };
}
