import { splitName } from '../../../src/domain/names.ts'
import type { PolicyDraft } from './draft.ts'

/** Warnings about the names of a policy's targets; they do not keep it from being saved. */
export interface NameHints {
  readonly tools?: string | undefined
  readonly prompts?: string | undefined
}

/**
 * Returns a hint for a list of names of tools or prompts where one begins with the name of a registered server, as
 * clients see it; undefined without one. Policies compare the name at the server.
 */
function prefixHint(names: readonly string[] | undefined, servers: readonly string[]): string | undefined {
  for (const written of names ?? []) {
    const split = splitName(written)
    if (split && split.name !== '' && servers.includes(split.server))
      return `“${written}” begins with the name of the server ${split.server}, but policies compare the names that the server gives, without it. Write “${split.name}” instead, and “${split.server}” under Servers.`
  }
  return undefined
}

/** Returns the hints for a policy; `servers`: names of the registered servers. */
export const nameHints = ({ targets = {} }: PolicyDraft, servers: readonly string[]): NameHints => ({
  tools: prefixHint(targets.tools, servers),
  prompts: prefixHint(targets.prompts, servers)
})
