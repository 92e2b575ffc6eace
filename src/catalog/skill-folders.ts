import type { StoredItem } from '../registry/model/model.ts'
import { skillRootOf } from './skill-entry.ts'

/** Directories of a server's skills. */
export interface SkillFolders {
  /**
   * Returns whether a URI is a file or directory of an enabled skill, or only of disabled ones; undefined if it belongs
   * to no listed skill. Skills can nest: the files of a disabled skill stay readable as files of an enabled one around it.
   */
  stateOf(uri: string): 'enabled' | 'disabled' | undefined
}

/** Limit of rounds of decoding: more layers are not decoded by any server. */
const MAX_ROUNDS = 4

/** A URI in the form that all spellings share which some server may read as the same file. */
interface LooseUri {
  readonly scheme: string
  readonly path: string
}

function decode(text: string): string {
  let decoded = text
  for (let round = 0; round < MAX_ROUNDS && decoded.includes('%'); round++) {
    try {
      decoded = decodeURIComponent(decoded)
    } catch {
      return decoded
    }
  }
  return decoded
}

function looseUri(uri: string): LooseUri {
  const decoded = decode(uri).toLowerCase().trim()
  const colon = decoded.indexOf(':')
  const rest = decoded.slice(colon + 1).replace(/[?#].*$/s, '')
  return { scheme: decoded.slice(0, colon), path: rest.replace(/[\\/]+/g, '/').replace(/^\/|\/$/g, '') }
}

const hasDots = (path: string) => path.split('/').some((segment) => segment === '.' || segment === '..')

const none: SkillFolders = { stateOf: () => undefined }

/** Creates the directories of the skills among a server's stored items. */
export function createSkillFolders(items: readonly StoredItem[]): SkillFolders {
  const skills = items.filter(({ kind }) => kind === 'skill')
  if (skills.length === 0) return none
  const roots = new Map<string, boolean>()
  const disabledSchemes = new Set<string>()
  for (const { name, enabled } of skills) {
    const { scheme, path } = looseUri(skillRootOf(name) ?? name)
    const root = `${scheme}:${path}`
    roots.set(root, enabled || roots.get(root) === true)
    if (!enabled) disabledSchemes.add(scheme)
  }
  return {
    stateOf(uri) {
      const { scheme, path } = looseUri(uri)
      // servers read these segments in different ways, so that they may lead to a disabled skill
      if (disabledSchemes.has(scheme) && hasDots(path)) return 'disabled'
      let found: 'disabled' | undefined
      for (let end = path.length; end > 0; end = path.lastIndexOf('/', end - 1)) {
        const isEnabled = roots.get(`${scheme}:${path.slice(0, end)}`)
        if (isEnabled) return 'enabled'
        if (isEnabled === false) found = 'disabled'
      }
      return found
    }
  }
}
