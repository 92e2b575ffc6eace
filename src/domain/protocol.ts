/** The revision without sessions, which each request names in its `_meta`. */
export const MODERN_VERSION = '2026-07-28'

/** What `initialize` offers to an upstream, and what a client with an unknown revision is answered. */
export const LATEST_LEGACY_VERSION = '2025-11-25'

/** Revisions that begin with `initialize`, the oldest first. */
export const LEGACY_VERSIONS: readonly string[] = ['2024-11-05', '2025-03-26', '2025-06-18', LATEST_LEGACY_VERSION]

/** Prefix of the protocol's own `_meta` keys. */
export const META = 'io.modelcontextprotocol/'

/** `resultType` of a modern result that asks its caller for more, instead of an answer. */
export const INPUT_REQUIRED = 'input_required'
