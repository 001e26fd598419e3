/** Builds the OpenAPI 3.1 description of the API from its operations. */

import { fenceHeader, idempotencyKeyHeader, outputHeaders } from "../api/messages.ts";
import { pageKeyHeader } from "../api/page-key.ts";
import { errorMessage } from "../api/schema/errors.ts";
import type { Fields, Schema } from "../api/schema/fields.ts";
import type { Operation, OperationTable } from "../api/schema/operation.ts";
import { sessionCookies } from "../core/policy/access.ts";

/** Descriptions of headers in requests and answers. */
const headerWords: Readonly<Record<string, string>> = {
	[idempotencyKeyHeader]: "identifies a retry: any text for a new session, STREAM:POSITION for input",
	[fenceHeader]: "the fence of the lease that this write belongs to",
	"last-event-id": "the id of the last event received: the stream continues after it",
	location: "the URL of the new resource",
	[outputHeaders.offset]: "the offset of the first byte of the body",
	[outputHeaders.next]: "where to continue: the next `since`",
	[outputHeaders.end]: "the total number of bytes",
	[outputHeaders.state]: "the session's state",
	[outputHeaders.exit]: "the exit as JSON, once the program has exited",
	[outputHeaders.gap]: "from=N, to=M, reason=R: requested bytes that no longer exist",
};

const securitySchemes = {
	bearer: { type: "http", scheme: "bearer" },
	cookie: {
		type: "apiKey",
		in: "cookie",
		name: `${sessionCookies.plain}_SERVER`,
		description: `SERVER is eight digits that differ per server; with TLS ${sessionCookies.secure}_SERVER`,
	},
	pageKey: { type: "apiKey", in: "header", name: pageKeyHeader, description: "required with the cookie" },
} as const;

/** Descriptions of tags. A tag without one has a self-explanatory name. */
const tagWords: Readonly<Record<string, string>> = {
	sessions: "Programs, their output and their input",
	events: "Events of all sessions",
	audit: "A record of actions and callers",
	webhooks: "URLs that receive events",
	workspaces: "Separate spaces for users and tasks that share a server",
	access: "Tokens, tickets and sign-in",
	server: "The server itself",
};

/** Paths whose tag has another name. */
const tagOf: Readonly<Record<string, string>> = {
	tokens: "access",
	tickets: "access",
	proof: "access",
	"signin-links": "access",
	signin: "access",
	signout: "access",
	info: "server",
	healthz: "server",
	readyz: "server",
	metrics: "server",
	"openapi.json": "server",
};

export function openApi(operations: OperationTable, version: string): object {
	const paths: Record<string, Record<string, object>> = {};
	const schemas = new Components();
	for (const [name, operation] of Object.entries(operations)) {
		const [method = "", route = ""] = operation.route.split(" ");
		const path = route.replace(/:(\w+)/g, "{$1}");
		paths[path] = { ...paths[path], [method.toLowerCase()]: described(name, path, operation, schemas) };
	}
	return {
		openapi: "3.1.0",
		info: { title: "Hawser", version, license: { name: "Apache-2.0", identifier: "Apache-2.0" } },
		tags: [...new Set(Object.keys(paths).map(tagFor))].map((name) => ({
			name,
			...(tagWords[name] === undefined ? {} : { description: tagWords[name] }),
		})),
		paths,
		components: { schemas: schemas.all, securitySchemes },
	};
}

function described(operationId: string, path: string, operation: Operation, schemas: Components): object {
	const { summary, right, query = {}, body, takes, headers = [] } = operation;
	const requestBody = body
		? { required: !body.isOptional, content: { "application/json": { schema: schemas.refer(body) } } }
		: takes && { content: contents([takes]) };
	return {
		operationId,
		tags: [tagFor(path)],
		summary,
		security: right === "public" ? [] : [{ bearer: [] }, { cookie: [], pageKey: [] }],
		"x-hawser-policy": right,
		parameters: [
			...[...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => ({
				name,
				in: "path",
				required: true,
				schema: schemas.refer(operation.params?.[name] ?? { type: "string" }),
			})),
			...Object.entries(query).map(([name, schema]) => ({
				name,
				in: "query",
				required: !schema.isOptional,
				schema: schemas.refer(schema),
			})),
			...headers.map((header) => ({ name: properCase(header), in: "header", ...headerOf(header) })),
		],
		...(requestBody ? { requestBody } : {}),
		responses: responses(operation, schemas),
	};
}

function tagFor(path: string): string {
	const [first = ""] = path.split("/").filter((part) => part !== "" && part !== "v1");
	return tagOf[first] ?? first;
}

function responses(operation: Operation, schemas: Components): object {
	const { answer, content = [], status, otherAnswers = {}, answerHeaders = [], events } = operation;
	const hasBody = answer !== undefined || content.length > 0;
	const stream = events && Object.fromEntries(Object.entries(events).map(([name, one]) => [name, schemas.refer(one)]));
	const headers = Object.fromEntries(answerHeaders.map((name) => [properCase(name), headerOf(name)]));
	const success = {
		description: "success",
		...(answerHeaders.length > 0 ? { headers } : {}),
		content: { ...json(answer, schemas), ...contents(content, stream) },
	};
	const others = Object.entries(otherAnswers).map(([code, one]) => {
		if (one === null) return [code, { description: "success without a body" }];
		return [code, { description: "success", content: typeof one === "string" ? contents([one]) : json(one, schemas) }];
	});
	const refused = {
		description: "refused",
		headers: { "Retry-After": { description: "with 429: seconds to wait", schema: { type: "string" } } },
		content: json(errorMessage, schemas),
	};
	return {
		[status ?? (hasBody ? 200 : 204)]: hasBody ? success : { description: "success without a body" },
		...Object.fromEntries(others),
		default: refused,
	};
}

function json(schema: Schema | undefined, schemas: Components): object {
	return schema ? { "application/json": { schema: schemas.refer(schema) } } : {};
}

function headerOf(name: string): object {
	return { description: headerWords[name] ?? name, required: false, schema: { type: "string" } };
}

/** In the usual capitalization; HTTP ignores case. */
function properCase(header: string): string {
	return header
		.replace(/(^|-)([a-z])/g, (_all, dash: string, letter: string) => dash + letter.toUpperCase())
		.replace(/Id$/, "ID");
}

/** Bodies that are not JSON. OpenAPI 3.1 has no field for the events of a stream, so they use an extension. */
function contents(types: readonly string[], events?: object): object {
	return Object.fromEntries(
		types.map((type) => {
			if (type === "application/octet-stream") return [type, { schema: { type: "string", format: "binary" } }];
			if (type === "application/json") return [type, { schema: {} }];
			if (type !== "text/event-stream") return [type, { schema: { type: "string" } }];
			const schema = { type: "string", description: "server-sent events, whose data is JSON" };
			return [type, { schema, ...(events ? { "x-hawser-events": events } : {}) }];
		}),
	);
}

/** The schemas with a title. Each is stored once and referred to by others. */
class Components {
	readonly all: Record<string, object> = {};

	refer({ doc, ...schema }: Schema): object {
		const documentation = doc === undefined ? {} : { description: doc };
		if (schema.title === undefined) return { ...this.#below(schema), ...documentation };
		this.all[schema.title] ??= this.#below(schema);
		return { $ref: `#/components/schemas/${schema.title}`, ...documentation };
	}

	#below({ isOptional: _, expected: __, ...schema }: Schema): object {
		return Object.fromEntries(
			Object.entries(schema).map(([keyword, value]) => [keyword, this.#inside(keyword, value)]),
		);
	}

	/** Only these keywords contain schemas. Members of an example, or a field named `items`, are not schemas. */
	#inside(keyword: string, value: unknown): unknown {
		if (keyword === "anyOf" || keyword === "prefixItems") return (value as Schema[]).map((one) => this.refer(one));
		if (keyword === "properties" || keyword === "patternProperties") {
			return Object.fromEntries(Object.entries(value as Fields).map(([name, one]) => [name, this.refer(one)]));
		}
		const isSchema = (keyword === "items" || keyword === "additionalProperties") && typeof value === "object";
		return isSchema ? this.refer(value as Schema) : value;
	}
}
