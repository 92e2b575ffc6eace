import type { CataloguePage, CatalogueServer } from '../../../src/schemas/catalogue.ts'
import { useApp, useRights, useSteadySource } from '../app-context.ts'
import { useDebounced } from '../calls/use-debounced.ts'
import { count } from '../format.ts'
import { link } from '../router.ts'
import * as sources from '../sources.ts'
import type { PageProps } from '../pages.ts'
import { PageHead } from '../ui/page-head.tsx'
import { AsyncContent, EmptyPanel } from '../ui/panels.tsx'
import { SearchBox } from '../ui/search-box.tsx'
import { Table } from '../ui/table.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { TableHead } from '../ui/table-head.tsx'

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
            {page.servers.length === 0 ? <NoServers words={words} /> : <ServerTable servers={page.servers} />}
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

const ServerTable = ({ servers }: { servers: readonly CatalogueServer[] }) => (
  <Table label="Servers of the catalogue">
    <TableHead columns={['Server', ['Publisher', 'opt'], ['Installed as', 'opt']]} />
    <tbody>
      {servers.map((server) => (
        <ServerRow key={server.name} server={server} />
      ))}
    </tbody>
  </Table>
)

const ServerRow = ({
  server: { name, title, description, publisher, options, is_deprecated }
}: {
  server: CatalogueServer
}) => (
  <tr>
    <th scope="row">
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
    </th>
    <td class="opt wrap">
      <UntrustedText text={publisher} />
    </td>
    <td class="opt">{options.join(', ') || <span class="muted">not supported</span>}</td>
  </tr>
)
