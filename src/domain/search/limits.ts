/** Longest query, in characters */
export const MAX_QUERY = 500
/** Hits of a query that names no limit, where the group does not say otherwise */
export const DEFAULT_SEARCH_LIMIT = 10
/** Most hits of one query */
export const MAX_SEARCH_LIMIT = 25
