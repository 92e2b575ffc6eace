import { useSignal } from '@preact/signals'
import { change } from '../api.ts'
import { useApp, useSource } from '../app-context.ts'
import { addressOf } from '../mount.ts'
import type { PageProps } from '../pages.ts'
import { ClientTable } from '../people/client-table.tsx'
import { NewToken } from '../people/new-token.tsx'
import { TokenTable } from '../people/token-table.tsx'
import { methodNames, roleNames } from '../people/words.ts'
import type { Viewer } from '../session.ts'
import * as sources from '../sources.ts'
import { Confirm } from '../ui/dialog.tsx'
import { KeyValues, Row } from '../ui/key-values.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { AsyncContent } from '../ui/panels.tsx'
import { Ago } from '../ui/time.tsx'
import { UntrustedText, untrustedText } from '../ui/untrusted-text.tsx'

const isRole = (role: Viewer['role']): role is keyof typeof roleNames => role in roleNames

function About() {
  const { viewer } = useApp()
  const { name, role, teams } = viewer.value
  return (
    <KeyValues columns={2}>
      <Row label="Name">
        <UntrustedText text={name} />
      </Row>
      <Row label="Role">{isRole(role) && roleNames[role]}</Row>
      <Row label="Teams">{teams.length === 0 ? 'none' : teams.map((team) => untrustedText(team)).join(', ')}</Row>
    </KeyValues>
  )
}

function Tokens({ query }: Pick<PageProps, 'query'>) {
  const { viewer } = useApp()
  const tokens = useSource(sources.ownTokens)
  const isCreating = useSignal(false)
  const isBreakGlass = viewer.value.method === 'break_glass'
  return (
    <section class="below stack">
      <div class="row">
        <h2>Access tokens</h2>
        {!isBreakGlass && (
          <button type="button" class="btn primary" data-new onClick={() => (isCreating.value = true)}>
            New token
          </button>
        )}
      </div>
      <p class="muted">
        {isBreakGlass
          ? 'You signed in with a static access token. Such a session cannot create tokens: sign in at your identity provider or with a password, or use the command line: towpath token create.'
          : 'For programs that cannot sign in with a browser. Clients of MCP that can need no token: they connect by URL.'}
      </p>
      <AsyncContent resource={tokens} subject="Your tokens" rows={2}>
        {(list) => <TokenTable tokens={list} query={query} path="/api/v0/me/tokens" />}
      </AsyncContent>
      {isCreating.value && <NewToken onClose={() => (isCreating.value = false)} />}
    </section>
  )
}

function Clients({ query }: Pick<PageProps, 'query'>) {
  const clients = useSource(sources.ownClients)
  return (
    <section class="below stack">
      <h2>Connected clients</h2>
      <p class="muted">Programs that you let in, and that act as you.</p>
      <AsyncContent resource={clients} subject="Your clients" rows={2}>
        {(list) => <ClientTable clients={list} query={query} path="/api/v0/me/clients" />}
      </AsyncContent>
    </section>
  )
}

function Sessions() {
  const session = useSource(sources.ownSession)
  const isAsking = useSignal(false)
  const signOut = async () => {
    await change('DELETE', '/api/v0/me/sessions')
    location.assign(addressOf('/auth/logout'))
  }
  return (
    <section class="below stack">
      <div class="row">
        <h2>Sessions</h2>
        <div class="actions">
          <a class="btn" href={addressOf('/auth/session')}>
            Sign out here
          </a>
          <button type="button" class="btn danger" onClick={() => (isAsking.value = true)}>
            Sign out everywhere
          </button>
        </div>
      </div>
      <AsyncContent resource={session} subject="Your session" rows={2}>
        {({ method, expires_at: end }) => (
          <KeyValues columns={2}>
            <Row label="This browser signed in with">{methodNames[method]}</Row>
            <Row label="Ends">
              <Ago at={end} />
            </Row>
          </KeyValues>
        )}
      </AsyncContent>
      {isAsking.value && (
        <Confirm
          title="Sign out everywhere?"
          action="Sign out everywhere"
          onConfirm={signOut}
          onClose={() => (isAsking.value = false)}
        >
          <p>
            This ends your sessions in all browsers, this one too, and disconnects all clients that you let in. Access
            tokens stay: revoke them one by one.
          </p>
        </Confirm>
      )}
    </section>
  )
}

/** Page of the own account. */
export function Me({ query }: PageProps) {
  return (
    <>
      <PageHead title="Me" sub="Your account, and everything that acts in your name." />
      <About />
      <Tokens query={query} />
      <Clients query={query} />
      <Sessions />
    </>
  )
}
