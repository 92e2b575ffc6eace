import { objectOr } from '../domain/is-object.ts'
import type { CatalogServer } from './catalog.ts'

/**
 * Returns what a server declared for an extension when its lists were read, in the era that they were read with;
 * undefined if it did not declare the extension. The declaration is stored with the server, so it is known after a
 * restart and to all replicas.
 */
export function declaredExtension(
  { stored }: CatalogServer,
  id: string
): Readonly<Record<string, unknown>> | undefined {
  const declared = objectOr(stored.negotiation?.capabilities.extensions, null)
  return declared && Object.hasOwn(declared, id) ? objectOr(declared[id], {}) : undefined
}
