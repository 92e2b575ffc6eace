import { isEvasiveUri, looseUri } from '../../domain/loose-uri.ts'
import type { StoredItem } from '../../registry/model/model.ts'
import { skillRootOf } from './skill-entry.ts'

/** Directories of a server's skills. */
export interface SkillFolders {
  /**
   * Returns whether a URI is a file or directory of an enabled skill, or only of disabled ones; undefined if it belongs
   * to no listed skill. Skills can nest: the files of a disabled skill stay readable as files of an enabled one around it.
   */
  stateOf(uri: string): 'enabled' | 'disabled' | undefined
}

const none: SkillFolders = { stateOf: () => undefined }

/** Creates the directories of the skills among a server's stored items. */
export function createSkillFolders(items: readonly Pick<StoredItem, 'kind' | 'name' | 'enabled'>[]): SkillFolders {
  const skills = items.filter(({ kind }) => kind === 'skill')
  if (skills.length === 0) return none
  const roots = new Map<string, boolean>()
  // a URI can have thousands of parts, each of which would be a search for a long text
  const lengths = new Set<number>()
  const disabledSchemes = new Set<string>()
  for (const { name, enabled } of skills) {
    const { scheme, path } = looseUri(skillRootOf(name) ?? name)
    const root = `${scheme}:${path}`
    lengths.add(path.length)
    roots.set(root, enabled || roots.get(root) === true)
    if (!enabled) disabledSchemes.add(scheme)
  }
  return {
    stateOf(uri) {
      const { scheme, path } = looseUri(uri)
      // servers read such URIs in different ways, so that they may lead to a disabled skill
      if (disabledSchemes.has(scheme) && isEvasiveUri(uri)) return 'disabled'
      let found: 'disabled' | undefined
      for (let end = path.length; end > 0; end = path.lastIndexOf('/', end - 1)) {
        if (!lengths.has(end)) continue
        const isEnabled = roots.get(`${scheme}:${path.slice(0, end)}`)
        if (isEnabled) return 'enabled'
        if (isEnabled === false) found = 'disabled'
      }
      return found
    }
  }
}
