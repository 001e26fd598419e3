/** How output is searched, and what was found. */

import Type, { type TUnsafe } from "typebox";
import { limits } from "../../../protocol/messages.ts";
import type { SearchQuery, SearchResult } from "../../../protocol/past.ts";
import { closed, flag, milliseconds, nullable, offset, schemaOf } from "../schemas.ts";

export const searchQuery: TUnsafe<SearchQuery> = schemaOf<SearchQuery>()(
	Type.Object(
		{
			q: Type.String({ minLength: 1, maxLength: limits.patternLength }),
			regex: Type.Optional(flag),
			ignoreCase: Type.Optional(flag),
			limit: Type.Optional(Type.Integer({ minimum: 1, maximum: limits.maxListed })),
			after: Type.Optional(offset),
		},
		closed,
	),
);

export const searchResult: TUnsafe<SearchResult> = schemaOf<SearchResult>()(
	Type.Object(
		{
			matches: Type.Array(
				Type.Object(
					{
						offset,
						end: offset,
						time: milliseconds,
						line: offset,
						text: Type.String(),
						at: Type.Tuple([Type.Integer(), Type.Integer()]),
					},
					{ title: "SearchMatch" },
				),
			),
			searched: Type.Object({ from: offset, to: offset }),
			next: nullable(offset),
		},
		{ title: "SearchResult" },
	),
);
