import { useEffect, useMemo } from 'preact/hooks'
import { CLIENTS } from '../../../src/domain/clients/snippets.ts'
import type { SeenClient } from '../../../src/schemas/dashboard/shared.ts'
import { useApp, useRights, useSource } from '../app-context.ts'
import { ClientName } from '../connect/clients-seen.tsx'
import { ConnectClient } from '../connect/connect-client.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { AsyncContent } from '../ui/panels.tsx'
import { Status } from '../ui/status.tsx'
import { Ago } from '../ui/time.tsx'
import type { PageProps } from '../pages.ts'
import { link } from '../router.ts'
import * as sources from '../sources.ts'

const WAIT_MS = 2_000

interface FirstRequestProps {
  /** Time of the last request to the endpoint. */
  readonly at: string | undefined
  /** Clients that declared a name, newest first. */
  readonly clients: readonly SeenClient[]
  readonly onAsk: () => Promise<void>
}

/** Indicator that turns green when a client connects. */
function FirstRequest({ at, clients: [client], onAsk }: FirstRequestProps) {
  const opened = useMemo(() => Date.now(), [])
  const isNew = at !== undefined && Date.parse(at) >= opened
  useEffect(() => {
    if (isNew) return undefined
    // an `initialize` request alone changes no data, so no event reports it
    const timer = setInterval(() => document.hidden || void onAsk(), WAIT_MS)
    return () => clearInterval(timer)
  }, [onAsk, isNew])
  const word = isNew
    ? 'A client is connected'
    : at
      ? 'A client was here'
      : 'Waiting for the first request from a client'
  return (
    <p role="status" class="waiting">
      <Status tone={at ? 'ok' : 'off'} word={at && client ? `${word}:` : word} />
      {at && (
        <>
          {client && (
            <strong>
              {' '}
              <ClientName client={client} />
            </strong>
          )}
          <span class="muted">
            {' '}
            <Ago at={at} />
          </span>
        </>
      )}
    </p>
  )
}

function SeenAnywhere() {
  const { data, load } = useSource(sources.overview)
  const { last_client_at: at, clients = [] } = data.value ?? {}
  return <FirstRequest at={at} clients={clients} onAsk={load} />
}

function SeenAtGroup({ name }: { name: string }) {
  const { data, load } = useSource(sources.group(name))
  const { seen: at, clients = [] } = data.value ?? {}
  return <FirstRequest at={at} clients={clients} onAsk={load} />
}

/** Page with the configuration of each client, and whether one has connected. */
export function Connect({ query }: PageProps) {
  const { location } = useApp()
  const { administer, audit, call } = useRights()
  const overview = useSource(sources.overview)
  const client = CLIENTS.find((name) => name === query.client)
  return (
    <>
      <PageHead
        title="Connect"
        sub="Point an agent at this gateway. It finds the tools of every enabled server, or those of a group."
      />
      <AsyncContent resource={overview} subject="The endpoints">
        {({ server_count }) => (
          <section class="panel">
            {server_count === 0 && (
              <p class="banner warn">
                No server is registered yet, so agents find no tools here.{' '}
                {administer && <a href={link('new-server')}>Add server</a>}
              </p>
            )}
            {!call && (
              <p class="banner">Your role reads and calls nothing; people who may use tools enter what you see here.</p>
            )}
            <ConnectClient
              start={{ group: query.group ?? '', ...(client && { client }) }}
              onChoose={({ group, client: name }) => location.setQuery({ group, client: name })}
            >
              {(group) => audit && (group ? <SeenAtGroup key={group} name={group} /> : <SeenAnywhere />)}
            </ConnectClient>
          </section>
        )}
      </AsyncContent>
    </>
  )
}
