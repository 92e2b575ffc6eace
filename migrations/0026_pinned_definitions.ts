import { INSTRUCTIONS, type DefinitionKind } from '../src/domain/definitions/kinds.ts'
import { sql, type Kysely } from 'kysely'
import { fingerprintOf, instructionsDefinition } from '../src/domain/definitions/canonical.ts'

interface Row {
  readonly kind: DefinitionKind
  readonly name: string
  readonly definition: string
  readonly accepted: string | null
}

/**
 * `canonical` and `pinned`: fingerprints of the present and of the accepted definition, the latter null for new items.
 * `accepted`: text of the accepted definition if it differs, null also if it is not known. `retired_servers`: pins of
 * removed servers. `accepted_origin`: JSON, where the server was when its definitions were accepted.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    alter table items
      add column state text,
      add column canonical text,
      add column pinned text,
      add column accepted_by text,
      add column accepted_at timestamptz`.execute(db)
  await sql`alter table servers add column accepted_origin text`.execute(db)
  await sql`
    create table retired_servers (
      name text not null,
      kind text not null,
      item text not null,
      canonical text not null,
      origin text,
      at timestamptz not null default now(),
      primary key (name, kind, item)
    )`.execute(db)
  await sql`create index retired_servers_at on retired_servers (at)`.execute(db)
  const servers = await sql<{ id: string; negotiation: string | null }>`select id, negotiation from servers`.execute(db)
  for (const { id, negotiation } of servers.rows) {
    if (negotiation !== null) await insertInstructions(db, id, negotiation)
    await acceptPresent(db, id)
  }
  await sql`
    alter table items
      alter column state set not null,
      alter column canonical set not null,
      add constraint items_state_check check (state in ('accepted', 'new', 'changed', 'rejected'))`.execute(db)
}

async function insertInstructions(db: Kysely<never>, id: string, negotiation: string): Promise<void> {
  const { instructions } = JSON.parse(negotiation) as { instructions?: string | null }
  const definition = instructionsDefinition(instructions ?? null)
  await sql`
    insert into items (server_id, kind, name, position, definition, fingerprint)
    values (${id}::uuid, ${INSTRUCTIONS}, ${INSTRUCTIONS}, 0, ${definition}, '')`.execute(db)
}

/** Accepts the stored definitions, except those that differed from an accepted one already. */
async function acceptPresent(db: Kysely<never>, id: string): Promise<void> {
  const { rows } = await sql<Row>`
    select kind, name, definition, accepted from items where server_id = ${id}::uuid`.execute(db)
  const canonical = rows.map(({ kind, definition }) => fingerprintOf(kind, definition))
  const pinned = rows.map(({ kind, accepted }, i) => (accepted === null ? canonical[i] : fingerprintOf(kind, accepted)))
  await sql`
    update items set
      canonical = found.canonical,
      pinned = found.pinned,
      state = case when found.canonical = found.pinned then 'accepted' else 'changed' end,
      accepted = case when found.canonical = found.pinned then null else items.accepted end
    from unnest(
      ${rows.map(({ kind }) => kind)}::text[], ${rows.map(({ name }) => name)}::text[],
      ${canonical}::text[], ${pinned}::text[]
    ) as found (kind, name, canonical, pinned)
    where items.server_id = ${id}::uuid and items.kind = found.kind and items.name = found.name`.execute(db)
}

export async function down(db: Kysely<never>): Promise<void> {
  await sql`delete from items where kind = ${INSTRUCTIONS} or definition = ''`.execute(db)
  await sql`drop table retired_servers`.execute(db)
  await sql`alter table servers drop column accepted_origin`.execute(db)
  await sql`
    alter table items
      drop column state,
      drop column canonical,
      drop column pinned,
      drop column accepted_by,
      drop column accepted_at`.execute(db)
}
