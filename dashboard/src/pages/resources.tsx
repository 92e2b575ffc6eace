import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { ResourcesView } from '../../../src/schemas/dashboard/resources.ts'
import { useSource } from '../app-context.ts'
import { PageHead } from '../ui/page-head.tsx'
import { EmptyPanel, AsyncContent } from '../ui/panels.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { bytes, count, plural } from '../format.ts'
import type { PageProps } from '../pages.ts'
import { ResourceDetail, UnlistedResource, type AnyResource } from '../resources/resource-detail.tsx'
import { link } from '../router.ts'
import * as sources from '../sources.ts'
import { filterFrom, type ToolFilter } from '../tools/filter.ts'
import { ItemPanes } from '../tools/item-panes.tsx'
import { ItemTags } from '../tools/item-tags.tsx'
import { RowSwitch } from '../tools/row-switch.tsx'
import { useSwitch } from '../tools/switching.ts'
import { summary } from '../tools/list.ts'

/** Resources and templates by server, beside the one in `?uri=`. */
export function Resources({ query }: PageProps) {
  const resources = useSource(sources.resources)
  const all = resources.data.value ? allOf(resources.data.value) : []
  const { served, servers } = summary(all)
  return (
    <>
      <PageHead
        title="Resources"
        sub={all.length > 0 && `${count(served)} served, from ${plural(servers, 'server')}.`}
      />
      <AsyncContent resource={resources} subject="The resources">
        {(data) =>
          data.resources.length + data.templates.length === 0 ? (
            <NoResources />
          ) : (
            <Panes data={data} uri={query.uri ?? ''} filter={filterFrom(new URLSearchParams(query))} />
          )
        }
      </AsyncContent>
    </>
  )
}

const allOf = ({ resources, templates }: ResourcesView): AnyResource[] => [
  ...resources.map((each) => ({ ...each, key: each.uri, isTemplate: false })),
  ...templates.map((each) => ({ ...each, key: each.uri_template, isTemplate: true }))
]

const NoResources = () => (
  <EmptyPanel title="No server offers resources">
    <p>Resources are data that a server lets clients read: files, tables, pages. Most servers offer only tools.</p>
    <div class="actions">
      <a class="btn" href={link('servers')}>
        Go to Servers
      </a>
    </div>
  </EmptyPanel>
)

const searched = ({ key, name, title, description }: AnyResource) => [key, name, title, description]

interface PanesProps {
  readonly data: ResourcesView
  readonly uri: string
  readonly filter: ToolFilter
}

const keyOf = ({ key }: AnyResource) => key

function Panes({ data, uri, filter }: PanesProps) {
  const all = useMemo(() => allOf(data), [data])
  const current = all.find(({ key }) => key === uri)
  const isFirst = useRef(true)
  useEffect(() => {
    const wasFirst = isFirst.current
    isFirst.current = false
    if (uri) document.querySelector<HTMLElement>('[data-arrival]')?.focus()
    else if (!wasFirst) document.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true })
  }, [uri])
  return (
    <ItemPanes
      itemsName="resource"
      placeholder="Search names, URIs and descriptions"
      items={all}
      keyOf={keyOf}
      current={uri}
      filter={filter}
      searched={searched}
      row={(each, isCurrent, query) => <ResourceRow resource={each} isCurrent={isCurrent} query={query} />}
    >
      {current ? (
        <ResourceDetail key={uri} resource={current} />
      ) : uri ? (
        <UnlistedResource key={uri} uri={uri} />
      ) : (
        <section class="det none" aria-label="Resource">
          <p class="muted">Choose a resource to read it.</p>
        </section>
      )}
    </ItemPanes>
  )
}

interface ResourceRowProps {
  readonly resource: AnyResource
  readonly isCurrent: boolean
  readonly query: Readonly<Record<string, string>>
}

function ResourceRow({ resource, isCurrent, query }: ResourceRowProps) {
  const { key, name, title, isTemplate, mime_type, enabled, server_enabled } = resource
  const size = 'size' in resource ? resource.size : undefined
  const setEnabled = useSwitch('resources')
  return (
    <>
      <a
        href={link('resources', '', { ...query, uri: key })}
        data-row
        aria-current={isCurrent ? 'true' : undefined}
        class={enabled && server_enabled ? undefined : 'dim'}
      >
        <span class="t">
          {title ? (
            <strong>
              <UntrustedText text={title} />
            </strong>
          ) : (
            <code>
              <UntrustedText text={name} />
            </code>
          )}
          <span class="tags">
            <ItemTags item={resource} />
            {isTemplate && <span class="tag">template</span>}
          </span>
        </span>
        <span class="t">
          <code class="ep">
            <UntrustedText text={key.slice(0, 300)} />
          </code>
          <span class="help clip">
            <UntrustedText
              text={[mime_type, size === undefined ? '' : bytes(size)].filter(Boolean).join(', ').slice(0, 60)}
            />
          </span>
        </span>
      </a>
      <RowSwitch name={name} enabled={enabled} onSwitch={(next) => setEnabled(key, next)} />
    </>
  )
}
