import type { UserDetails } from '../../../src/schemas/principal.ts'
import { useApp, useSource } from '../app-context.ts'
import type { PageProps } from '../pages.ts'
import { ClientTable } from '../people/client-table.tsx'
import { Effective } from '../people/effective.tsx'
import { PersonActions, RoleChoice } from '../people/person-actions.tsx'
import { RoleReason } from '../people/role-reason.tsx'
import { TokenTable } from '../people/token-table.tsx'
import { roleNames, sourceNames } from '../people/words.ts'
import { link } from '../router.ts'
import * as sources from '../sources.ts'
import { KeyValues, Row } from '../ui/key-values.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { AsyncContent } from '../ui/panels.tsx'
import { Status } from '../ui/status.tsx'
import { Ago } from '../ui/time.tsx'
import { UntrustedText, untrustedText } from '../ui/untrusted-text.tsx'

const Teams = ({ teams }: Pick<UserDetails, 'teams'>) =>
  teams.length === 0 ? (
    <>none</>
  ) : (
    <>
      {teams.map((team, at) => (
        <span key={team}>
          {at > 0 && ', '}
          <a href={link('team', team)}>
            <UntrustedText text={team} />
          </a>
        </span>
      ))}
    </>
  )

function Facts({ user }: { user: UserDetails }) {
  const { may } = useApp().viewer.value
  return (
    <KeyValues columns={2}>
      <Row label="State">
        <Status tone={user.suspended ? 'off' : 'ok'} word={user.suspended ? 'Suspended' : 'Active'} />
      </Row>
      <Row label="From">{sourceNames[user.source]}</Row>
      <Row label="Role">
        {may.administer ? <RoleChoice user={user} /> : roleNames[user.role]}
        <span class="help blk">
          <RoleReason user={user} />
        </span>
      </Row>
      <Row label="Last seen">{user.last_seen_on ?? '—'}</Row>
      <Row label="Groups">
        <UntrustedText text={user.groups.length === 0 ? 'none' : user.groups.join(', ')} />
        {user.groups_read_at && (
          <span class="help blk">
            read <Ago at={user.groups_read_at} />
          </span>
        )}
      </Row>
      <Row label="Teams">
        <Teams teams={user.teams} />
      </Row>
      {user.display_name && (
        <Row label="Full name">
          <UntrustedText text={user.display_name} />
        </Row>
      )}
      {user.email && (
        <Row label="E-mail">
          <UntrustedText text={user.email} />
        </Row>
      )}
    </KeyValues>
  )
}

function Credentials({ name, query }: PageProps) {
  const tokens = useSource(sources.userTokens(name))
  const clients = useSource(sources.userClients(name))
  const { may } = useApp().viewer.value
  const pathTo = (what: string) => (may.administer ? `/api/v0/users/${encodeURIComponent(name)}/${what}` : undefined)
  return (
    <>
      <section class="below stack">
        <h2>Clients</h2>
        <AsyncContent resource={clients} subject="The clients" rows={2}>
          {(list) => <ClientTable clients={list} query={query} path={pathTo('clients')} />}
        </AsyncContent>
      </section>
      <section class="below stack">
        <h2>Tokens</h2>
        <AsyncContent resource={tokens} subject="The tokens" rows={2}>
          {(list) => <TokenTable tokens={list} query={query} path={pathTo('tokens')} />}
        </AsyncContent>
      </section>
    </>
  )
}

/** One person: where from, role, clients, tokens, and what policies allow. */
export function Person({ name, query }: PageProps) {
  const user = useSource(sources.user(name))
  const { may } = useApp().viewer.value
  const found = user.data.value
  return (
    <>
      <PageHead
        title={untrustedText(name)}
        heading={<UntrustedText text={name} />}
        crumb={
          <>
            <a href={link('people')}>People</a> <span aria-hidden="true">/</span>
          </>
        }
      >
        {may.administer && found && <PersonActions user={found} />}
      </PageHead>
      <AsyncContent resource={user} subject="This person">
        {(data) => (
          <>
            <Facts user={data} />
            <Credentials name={name} query={query} />
            <Effective name={name} query={query} />
          </>
        )}
      </AsyncContent>
    </>
  )
}
