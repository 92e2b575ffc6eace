import { allServers } from '../domain/policy/allow-list.ts'
import type { Permit } from '../domain/policy/permit.ts'
import type { PolicyItem } from '../domain/policy/target.ts'
import type { Caller } from '../catalog/caller.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { globalScope, permitOf, scopeFor, type Scope } from '../catalog/scope.ts'

/** The part of a catalog that a caller sees over REST, disabled items included. */
export interface RestView {
  readonly catalog: Catalog
  /** Resolves URIs among the enabled items. */
  readonly scope: Scope
  readonly permit: Permit
  /** Short key, equal for views of one catalog that show the same. */
  readonly contentHash: string
  /** Returns true if the item exists for the caller. */
  sees(item: PolicyItem): boolean
}

const seesAll = () => true

/** Returns the view of all items. */
export const wholeView = (catalog: Catalog): RestView => ({
  catalog,
  scope: globalScope(catalog),
  permit: allServers,
  contentHash: allServers.contentHash,
  sees: seesAll
})

/** Returns the caller's view. Only a user's is limited; policies decide on the calls of administrators, too. */
export function viewFor(catalog: Catalog, caller: Caller): RestView {
  const permit = permitOf(catalog, caller)
  if (permit.isAll || caller.kind !== 'user') return { ...wholeView(catalog), permit }
  return {
    catalog,
    scope: scopeFor(catalog, undefined, permit),
    permit,
    contentHash: permit.contentHash,
    sees: (item) => permit.decide(item).verdict !== 'no'
  }
}
