import { createHash } from 'node:crypto'
import type { Item } from '../../catalog/catalog.ts'
import { credentialOf, type Caller } from '../../catalog/caller.ts'
import { fingerprintOf } from '../../domain/definitions/canonical.ts'
import { canonicalText, readCanonical } from '../../domain/definitions/canonical-json.ts'

/** A call of a tool at an endpoint. */
export interface DigestedCall {
  readonly caller: Caller
  readonly endpoint: string
  readonly item: Pick<Item, 'name' | 'server' | 'stored'>
  /** JSON text of the arguments object, without ambiguous members and numbers. */
  readonly args: string
}

const fingerprints = new WeakMap<object, string>()

/** Returns the fingerprint of a tool's definition, on which a yes depends. One of a megabyte takes 20 ms, so it is kept. */
export function definitionOf({ stored }: DigestedCall['item']): string {
  const known = fingerprints.get(stored)
  if (known !== undefined) return known
  const fingerprint = fingerprintOf('tool', stored.definition)
  fingerprints.set(stored, fingerprint)
  return fingerprint
}

/**
 * Returns the SHA-256 that equal calls share: of caller, endpoint, server, tool, definition, and arguments whatever the
 * order of their members.
 */
export function digestOf({ caller, endpoint, item, args }: DigestedCall): Buffer {
  const credential = Buffer.from(credentialOf(caller) ?? []).toString('hex')
  const parts = [caller.key, credential, endpoint, item.server.stored.id, item.name, definitionOf(item)]
  return createHash('sha256')
    .update(JSON.stringify([...parts, canonicalText(readCanonical(args))]))
    .digest()
}
