import type { CataloguePage, CatalogueServer } from '../../../src/schemas/catalogue.ts'
import { useApp, useRights, useSteadySource } from '../app-context.ts'
import { useDebounced } from '../calls/use-debounced.ts'
import { count } from '../format.ts'
import { link } from '../router.ts'
import * as sources from '../sources.ts'
import type { PageProps } from '../pages.ts'
import { SortedTable, type Column } from '../table/sorted-table.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { AsyncContent, EmptyPanel } from '../ui/panels.tsx'
import { SearchBox } from '../ui/search-box.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'

/** Origin of the entries, and how many of them are shown. */
function sourceText({ source, servers, total }: CataloguePage): string {
  const day = source.read_at.slice(0, 10)
  const origin = source.registry ?? 'the list that comes with Towpath'
  const shown =
    servers.length < total ? `${count(servers.length)} of ${count(total)} servers` : `${count(total)} servers`
  return `${shown}, from ${origin}, ${day}.`
}

/** Servers that can be installed, with a search. */
export function Catalogue({ query }: PageProps) {
  const { location } = useApp()
  const { administer } = useRights()
  const words = query.q ?? ''
  const found = useSteadySource(sources.catalogue(useDebounced(words).trim()))
  return (
    <>
      <PageHead
        title="Catalogue"
        sub={
          administer
            ? 'MCP servers that you can install. Nothing starts before you install it.'
            : 'MCP servers that administrators can install.'
        }
      />
      <div class="bar">
        <SearchBox
          label="Search the catalogue"
          placeholder="Search names and descriptions"
          value={words}
          onInput={(text) => location.setQuery({ q: text })}
        />
      </div>
      <AsyncContent resource={found} subject="The catalogue">
        {(page) => (
          <div class="stack">
            <p class="muted" role="status">
              <UntrustedText text={sourceText(page)} />
              {page.source.problem && (
                <>
                  {' '}
                  The registry cannot be read: <UntrustedText text={page.source.problem} />.
                </>
              )}
            </p>
            {page.servers.length === 0 ? <NoServers words={words} /> : <ServerTable page={page} />}
          </div>
        )}
      </AsyncContent>
    </>
  )
}

function NoServers({ words }: { words: string }) {
  const title = words ? 'No server matches' : 'The catalogue is empty'
  if (!useRights().administer) return <EmptyPanel title={title} />
  return (
    <EmptyPanel title={title}>
      <p>You can also add a server that is not in the catalogue.</p>
      <div class="actions">
        <a class="btn" href={link('new-server')}>
          Add server
        </a>
      </div>
    </EmptyPanel>
  )
}

const columns: readonly Column<CatalogueServer>[] = [
  {
    key: 'name',
    label: 'Server',
    value: ({ name, title }) => title ?? name,
    cell: ({ name, title, description, is_deprecated }) => (
      <>
        <a class="name" href={link('catalogue-server', name)} data-row>
          <UntrustedText text={title ?? name} />
        </a>
        {is_deprecated && (
          <>
            {' '}
            <span class="tag warn">deprecated</span>
          </>
        )}
        <span class="help blk clip">
          <UntrustedText text={description} />
        </span>
      </>
    )
  },
  {
    key: 'publisher',
    label: 'Publisher',
    kind: 'opt wrap',
    value: ({ publisher }) => publisher,
    cell: ({ publisher }) => <UntrustedText text={publisher} />
  },
  {
    key: 'options',
    label: 'Installed as',
    kind: 'opt',
    value: ({ options }) => options.join(', ') || undefined,
    cell: ({ options }) => options.join(', ') || <span class="muted">not supported</span>
  }
]

/** Best matches first, unless sorted. */
const ServerTable = ({ page: { servers, total } }: { page: CataloguePage }) => (
  <SortedTable
    label="Servers of the catalogue"
    rows={servers}
    columns={columns}
    keyOf={({ name }) => name}
    sortTip={servers.length < total ? `Sorts the ${count(servers.length)} servers that are shown` : undefined}
    opens
  />
)
