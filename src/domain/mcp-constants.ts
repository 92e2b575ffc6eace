/** Protocol revision without sessions, stated in the `_meta` of each request */
export const MODERN_VERSION = '2026-07-28'

/** Revision sent in `initialize` to upstreams, and returned to clients that request an unknown revision */
export const LATEST_LEGACY_VERSION = '2025-11-25'

/** Revisions with `initialize` and sessions, oldest first */
export const LEGACY_VERSIONS: readonly string[] = ['2024-11-05', '2025-03-26', '2025-06-18', LATEST_LEGACY_VERSION]

/** Prefix of the protocol's own `_meta` keys */
export const META = 'io.modelcontextprotocol/'

/** Identifiers of the official extensions that the gateway carries (mcp-proxy.md#extensions) */
export const UI_EXTENSION = `${META}ui`
export const SKILLS_EXTENSION = `${META}skills`
export const TASKS_EXTENSION = `${META}tasks`

/** MIME type of the interface of an MCP App, and the only one that hosts must be able to show */
export const APP_MIME_TYPE = 'text/html;profile=mcp-app'

/** `resultType` of a result that requests more input instead of completing the call (2026-07-28) */
export const INPUT_REQUIRED = 'input_required'

/** Lists that have `list_changed` notifications. */
export type ListKind = 'tools' | 'prompts' | 'resources'
export const listKinds: readonly ListKind[] = ['tools', 'prompts', 'resources']

/** `resultType` of a result that names a task instead of completing the call */
export const TASK = 'task'
