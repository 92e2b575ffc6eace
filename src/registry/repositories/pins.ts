import {
  INSTRUCTIONS,
  definitionKinds,
  type DefinitionKind,
  type DefinitionState
} from '../../domain/definitions/kinds.ts'
import { LRUCache } from 'lru-cache'
import { sql } from 'kysely'
import { fingerprintOf } from '../../domain/definitions/canonical.ts'
import { originOf } from '../../domain/network/upstream-url.ts'
import type { DefinitionOrigin, Negotiation, ServerSettings } from '../model/model.ts'
import type { Db } from '../model/tables.ts'

/** Kind and name of an item, or of the instructions of a server */
export interface DefinitionRef {
  readonly kind: DefinitionKind
  readonly name: string
}

export const keyOf = ({ kind, name }: DefinitionRef): string => `${kind} ${name}`

/** Fingerprints of accepted definitions by kind and name, such as `tool add` */
export type Pins = Readonly<Record<string, string>>

/** What is known of a stored item before its server's lists are stored again */
interface KnownDefinition {
  readonly fingerprint: string
  readonly canonical: string
  readonly pinned: string | null
  readonly state: DefinitionState
}

/** Fingerprints and state of a definition that was read */
export interface ReadDefinition {
  readonly canonical: string
  readonly pinned: string | null
  readonly state: DefinitionState
}

/**
 * Canonical fingerprints of texts that were read lately: one of 64 MB takes seconds. The limit is a size, since `max`
 * would reserve the memory of all entries at the start.
 */
const canonicals = new LRUCache<string, string>({ maxSize: 50_000, sizeCalculation: () => 1 })

/** Returns the canonical fingerprint of a definition, made once per text. `digest`: SHA-256 of the text. */
export function canonicalOf(kind: DefinitionKind, definition: string, digest: string): string {
  const key = `${kind} ${digest}`
  const known = canonicals.get(key)
  if (known !== undefined) return known
  const made = fingerprintOf(kind, definition)
  canonicals.set(key, made)
  return made
}

/**
 * Returns a function that compares a definition with what is accepted of it (pinned-definitions.md#baseline). `isFirst`:
 * nothing of the server is known, so everything is accepted. `pins`: exactly these are accepted instead.
 */
export function createComparison(isFirst: boolean, pins: Pins | undefined) {
  const isBaseline = isFirst && pins === undefined
  return (
    ref: DefinitionRef & { readonly definition: string; readonly fingerprint: string },
    known: KnownDefinition | undefined
  ): ReadDefinition => {
    // the same bytes need not be parsed again
    const isSame = known?.fingerprint === ref.fingerprint
    const canonical = isSame ? known.canonical : canonicalOf(ref.kind, ref.definition, ref.fingerprint)
    const given = pins !== undefined && Object.hasOwn(pins, keyOf(ref)) ? pins[keyOf(ref)]! : undefined
    const pinned = given ?? known?.pinned ?? (isBaseline ? canonical : null)
    if (pinned === canonical) return { canonical, pinned, state: 'accepted' }
    if (known?.state === 'rejected' && known.canonical === canonical) return { canonical, pinned, state: 'rejected' }
    return { canonical, pinned, state: pinned === null ? 'new' : 'changed' }
  }
}

/** True for a definition that is held now and was not so before, or was another one. */
export const isNewlyHeld = (known: KnownDefinition | undefined, { state, canonical }: ReadDefinition): boolean =>
  (state === 'new' || state === 'changed') &&
  !((known?.state === 'new' || known?.state === 'changed') && known.canonical === canonical)

/** Returns where a server is, for comparison with where its definitions were accepted. */
export function originOfServer(
  { url, command }: Pick<ServerSettings, 'url' | 'command'>,
  negotiation: Pick<Negotiation, 'serverInfo'> | null
): DefinitionOrigin {
  const name = negotiation?.serverInfo?.['name']
  return {
    server_info_name: typeof name === 'string' ? name : null,
    command: command ?? null,
    url: originOf(url) ?? null
  }
}

/** Keeps the pins of a server that is removed, in place of those of earlier servers of its name. */
export async function retirePins(db: Db, id: string, name: string): Promise<void> {
  await db.deleteFrom('retired_servers').where('name', '=', name).execute()
  await sql`
    insert into retired_servers (name, kind, item, canonical, origin)
    select ${name}::text, items.kind, items.name, items.pinned,
      case when items.kind = ${INSTRUCTIONS} then servers.accepted_origin end
    from items join servers on servers.id = items.server_id
    where servers.id = ${id}::uuid and items.pinned is not null`.execute(db)
}

/** Gives a new server the pins of an earlier one of its name, as items that are not listed. */
export async function restorePins(db: Db, id: string, name: string): Promise<void> {
  await sql`
    insert into items (server_id, kind, name, definition, fingerprint, canonical, pinned, state)
    select ${id}::uuid, kind, item, '', '', '', canonical, 'changed' from retired_servers
    where name = ${name}`.execute(db)
  await sql`
    update servers set accepted_origin = retired_servers.origin from retired_servers
    where servers.id = ${id}::uuid and retired_servers.name = ${name} and retired_servers.kind = ${INSTRUCTIONS}`.execute(
    db
  )
  await db.deleteFrom('retired_servers').where('name', '=', name).execute()
}

/** Accepts exactly the definitions with these fingerprints, before the lists of the server have been read. */
export const seedFirstPins = (db: Db, id: string, pins: Pins): Promise<void> =>
  // the instructions are known even if they have no pin: what is known is no baseline
  seedPins(db, id, { [keyOf({ kind: INSTRUCTIONS, name: INSTRUCTIONS })]: null, ...pins })

/** Bytes of the longest name or address of an item */
const MAX_NAME = 2_048

/** Stores the pins of items that are not listed. */
export async function seedPins(db: Db, id: string, pins: Readonly<Record<string, string | null>>): Promise<void> {
  const rows = Object.entries(pins)
    .map(([ref, pinned]) => ({ ...splitKey(ref), pinned }))
    // no server lists a longer name
    .filter(({ kind, name }) => definitionKinds.some((each) => each === kind) && Buffer.byteLength(name) <= MAX_NAME)
  if (rows.length === 0) return
  await sql`
    insert into items (server_id, kind, name, definition, fingerprint, canonical, pinned, state)
    select ${id}::uuid, kind, name, '', '', '', pinned, 'changed' from unnest(
      ${rows.map(({ kind }) => kind)}::text[], ${rows.map(({ name }) => name)}::text[],
      ${rows.map(({ pinned }) => pinned)}::text[]
    ) as seeds (kind, name, pinned)
    on conflict (server_id, kind, name) do update set
      pinned = excluded.pinned,
      accepted = case when items.pinned = excluded.pinned then items.accepted end`.execute(db)
}

const splitKey = (key: string) => {
  const at = key.indexOf(' ')
  return { kind: key.slice(0, at), name: key.slice(at + 1) }
}
