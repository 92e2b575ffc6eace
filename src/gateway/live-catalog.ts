import { emptyCatalog, type Catalog } from '../catalog/catalog.ts'
import { comparePrincipals, type PrincipalChanges } from '../control/principals.ts'
import type { SignInLeases } from './sign-in-leases.ts'

/** Replacement of the catalog, with the differences that end something. */
export interface CatalogChange extends PrincipalChanges {
  readonly previous: Catalog
  readonly next: Catalog
  /** Groups that were removed, also if a new group has the same name. */
  readonly removedGroups: Catalog['groups']
}

/** Phases of the reactions to a new catalog, in order: revoked access ends before anything else happens. */
const phases = ['endSessions', 'endCalls', 'release', 'notify'] as const
export type CatalogPhase = (typeof phases)[number]

/** The catalog that requests are served from. Parts of the gateway subscribe to its replacement. */
export interface LiveCatalog {
  readonly current: Catalog
  /** True once a catalog has been loaded. */
  readonly isLoaded: boolean
  /** Subscribes to replacements. Within one phase, reactions run in the order of subscription. */
  onChange(phase: CatalogPhase, react: (change: CatalogChange) => void): void
  /** Serves `next` at once and returns the reactions, to be run in order; a failing one must not stop the others. */
  replace(next: Catalog): (() => void)[]
  /** Ends what callers have open whose sign-in was not renewed. */
  endLapsedSignIns(): void
}

const removedFrom = (previous: Catalog, next: Catalog) =>
  previous.groups.filter(({ stored }) => next.group(stored.name)?.stored.createdAt !== stored.createdAt)

export function createLiveCatalog(leases: Pick<SignInLeases, 'removeEnded'>): LiveCatalog {
  const reactions: Record<CatalogPhase, ((change: CatalogChange) => void)[]> = {
    endSessions: [],
    endCalls: [],
    release: [],
    notify: []
  }
  let current = emptyCatalog
  let isLoaded = false
  return {
    get current() {
      return current
    },
    get isLoaded() {
      return isLoaded
    },
    onChange(phase, react) {
      reactions[phase].push(react)
    },
    replace(next) {
      const previous = current
      const removedGroups = removedFrom(previous, next)
      const { revoked, hasNewPermits } = comparePrincipals(previous, next)
      const all = new Set([...revoked, ...leases.removeEnded(next)])
      const change = { previous, next, removedGroups, hasNewPermits, revoked: all }
      current = next
      isLoaded = true
      return phases.flatMap((phase) => reactions[phase].map((react) => () => react(change)))
    },
    endLapsedSignIns() {
      const revoked = leases.removeEnded(current)
      if (revoked.size === 0) return
      const change = { previous: current, next: current, removedGroups: [], hasNewPermits: false, revoked }
      for (const phase of ['endSessions', 'endCalls'] as const) for (const react of reactions[phase]) react(change)
    }
  }
}
