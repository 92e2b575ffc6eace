import type { ServerDetails } from '../../../src/schemas/dashboard/servers.ts'
import { change, path } from '../api.ts'
import { useApp, useRights, useSource } from '../app-context.ts'
import { CauseText } from '../calls/cause-text.tsx'
import { DefinitionPolicy } from '../servers/definition-policy.tsx'
import { LeftOutItems } from '../servers/left-out-items.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { AsyncContent } from '../ui/panels.tsx'
import { DeleteButton, RefreshButton } from '../servers/server-actions.tsx'
import { Recording } from '../servers/recording.tsx'
import { StartCost } from '../servers/start-cost.tsx'
import { ServerFacts } from '../servers/server-facts.tsx'
import { ServerTabs, tabsFor } from '../servers/server-tabs.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { SignInAgain } from '../servers/sign-in-again.tsx'
import { ServerState } from '../ui/status.tsx'
import { Switch } from '../ui/switch.tsx'
import { TestButton } from '../servers/test-button.tsx'
import type { PageProps } from '../pages.ts'
import { sentence } from '../format.ts'
import { link } from '../router.ts'
import * as sources from '../sources.ts'

function Head({ server }: { server: ServerDetails }) {
  const { store } = useApp()
  const { administer, audit } = useRights()
  const { name, status } = server
  const onSwitch = async (enabled: boolean) => {
    await change('PATCH', path('servers', name, 'enabled'), { enabled })
    await store.refresh()
  }
  return (
    <>
      <div class="bar">
        <ServerState status={status} />
        <Switch name={name} checked={server.enabled} onSwitch={onSwitch}>
          Enabled
        </Switch>
      </div>
      {server.save_failure && (
        <section class="panel failure" aria-label="Why it has no tools">
          <p>
            <strong>Saved without an answer of the server.</strong>{' '}
            <UntrustedText text={sentence(server.save_failure)} /> Towpath reads its lists when you enable it.
          </p>
        </section>
      )}
      {status === 'failing' && audit && (
        <section class="panel failure" aria-label="Why it fails">
          <CauseText server={server} />
          {server.transport === 'stdio' && administer && (
            <a class="btn" href={link('server', name, { tab: 'log' })}>
              View stderr
            </a>
          )}
        </section>
      )}
    </>
  )
}

export function Server({ name, query }: PageProps) {
  const resource = useSource(sources.server(name))
  const may = useRights()
  const current = tabsFor(may).find((id) => id === query.tab) ?? 'tools'
  const server = resource.data.value
  return (
    <>
      <PageHead
        title={name}
        heading={<UntrustedText text={name} />}
        crumb={
          <>
            <a href={link('servers')}>Servers</a> <span aria-hidden="true">/</span>
          </>
        }
        sub={server?.description && <UntrustedText text={server.description} />}
      >
        {server && may.administer && (
          <>
            <TestButton name={name} />
            <RefreshButton name={name} />
            <a class="btn" href={link('server', name, { tab: 'settings' })}>
              Edit
            </a>
            <DeleteButton server={server} />
          </>
        )}
      </PageHead>
      <AsyncContent resource={resource} subject="The server">
        {(found) => (
          <>
            <Head server={found} />
            <StartCost server={found} />
            {found.status === 'sign_in_needed' && may.administer && <SignInAgain server={found} />}
            <ServerTabs server={found} current={current} />
            <LeftOutItems server={found} />
            <section class="panel below" aria-label="About">
              <h2>About</h2>
              <ServerFacts server={found} />
              <DefinitionPolicy server={found} />
              <Recording server={found} />
            </section>
          </>
        )}
      </AsyncContent>
    </>
  )
}
