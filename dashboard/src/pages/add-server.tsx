import { suggestName } from '../../../src/domain/import/name.ts'
import { useApp } from '../app-context.ts'
import { PageHead } from '../ui/page-head.tsx'
import { PasteImport } from '../servers/paste-import.tsx'
import { ServerEditor } from '../servers/server-editor.tsx'
import { Tabs } from '../ui/tabs.tsx'
import type { PageProps } from '../pages.ts'
import { link } from '../router.ts'
import { emptyForm, type ServerForm } from '../servers/server-form.ts'

const tabs = [
  { id: 'paste', label: 'Paste' },
  { id: 'form', label: 'Form' }
] as const

/** Suggests a name from the host or the package. */
const suggest = ({ transport, url, command, args }: ServerForm): string => {
  if (transport === 'stdio')
    return command === '' ? '' : suggestName({ command, args: (args ?? '').split('\n').filter(Boolean) })
  return /^https?:\/\/[^/]+\.?[^/]+/.test(url ?? '') ? suggestName({ url: url! }) : ''
}

export function AddServer({ query }: PageProps) {
  const { location } = useApp()
  const tab = query.tab === 'form' ? 'form' : 'paste'
  const initial = query.transport === 'stdio' ? { ...emptyForm, transport: 'stdio' as const } : emptyForm
  return (
    <>
      <PageHead
        title="Add server"
        crumb={
          <>
            <a href={link('servers')}>Servers</a> <span aria-hidden="true">/</span>
          </>
        }
        sub="Towpath connects to the server first; a server that does not answer is not added, unless you save it disabled."
      />
      <section class="panel" aria-label="New server">
        <Tabs label="How to add" tabs={tabs} current={tab} onSelect={(next) => location.setQuery({ tab: next })}>
          {tab === 'paste' ? <PasteImport /> : <ServerEditor initial={initial} suggest={suggest} />}
        </Tabs>
      </section>
    </>
  )
}
