import { useEffect, useMemo } from 'preact/hooks'
import { useApp, useSource } from '../app-context.ts'
import { ConnectClient } from '../components/connect-client.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Loaded } from '../components/panels.tsx'
import { Status } from '../components/status.tsx'
import { Ago } from '../components/time.tsx'
import type { PageProps } from '../pages.ts'
import * as sources from '../sources.ts'

const WAIT_MS = 2_000

/** Turns green by itself when a client comes. */
function FirstRequest({ at }: { at: string | undefined }) {
  const opened = useMemo(() => Date.now(), [])
  const isNew = at !== undefined && Date.parse(at) >= opened
  const { store } = useApp()
  useEffect(() => {
    if (isNew) return undefined
    // a client that only says hello changes nothing, so there is no event of it
    const timer = setInterval(() => void store.open(sources.overview).load(), WAIT_MS)
    return () => clearInterval(timer)
  }, [store, isNew])
  return (
    <p role="status" class="waiting">
      <Status
        tone={at ? 'ok' : 'off'}
        word={
          isNew ? 'A client is connected' : at ? 'A client was here' : 'Waiting for the first request from a client'
        }
      />
      {at && (
        <span class="muted">
          {' '}
          <Ago at={at} />
        </span>
      )}
    </p>
  )
}

export function Connect({ query }: PageProps) {
  const overview = useSource(sources.overview)
  return (
    <>
      <PageHead
        title="Connect"
        sub="Point an agent at this gateway. It finds the tools of every enabled server, or those of a group."
      />
      <Loaded resource={overview} what="The endpoints">
        {({ last_client_at: at }) => (
          <>
            <section class="panel">
              <ConnectClient group={query.group ?? ''} />
            </section>
            <FirstRequest at={at} />
          </>
        )}
      </Loaded>
    </>
  )
}
