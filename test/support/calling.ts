/** Requests with JSON bodies and answers. */

export type Called = { readonly url: string; readonly adminToken: string };
export type Answer = { readonly status: number; readonly body: Record<string, unknown> };

/** As the operator, unless a token is given. */
export async function call(
	{ url, adminToken }: Called,
	method: string,
	path: string,
	body?: object,
	token: string = adminToken,
): Promise<Answer> {
	const response = await fetch(`${url}${path}`, {
		method,
		headers: {
			authorization: `Bearer ${token}`,
			...(body === undefined ? {} : { "content-type": "application/json" }),
		},
		...(body === undefined ? {} : { body: JSON.stringify(body) }),
	});
	const text = await response.text();
	return { status: response.status, body: (text === "" ? {} : JSON.parse(text)) as Answer["body"] };
}

/** The status, code and message of a refused request. */
export function refusalOf({ status, body }: Answer): [number, string | undefined] {
	return [status, (body.error as { code?: string } | undefined)?.code];
}
