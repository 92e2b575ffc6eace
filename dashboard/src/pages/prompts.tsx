import type { PromptView } from '../../../src/schemas/dashboard/prompts.ts'
import { useSource } from '../app-context.ts'
import { PageHead } from '../ui/page-head.tsx'
import { EmptyPanel, AsyncContent } from '../ui/panels.tsx'
import { Breakable, UntrustedText } from '../ui/untrusted-text.tsx'
import { count, plural } from '../format.ts'
import type { PageProps } from '../pages.ts'
import { PromptDetail } from '../prompts/prompt-detail.tsx'
import { link } from '../router.ts'
import * as sources from '../sources.ts'
import { filterFrom, type ToolFilter } from '../tools/filter.ts'
import { ItemPanes } from '../tools/item-panes.tsx'
import { ItemTags } from '../tools/item-tags.tsx'
import { RowSwitch } from '../tools/row-switch.tsx'
import { useSwitch } from '../tools/switching.ts'
import { summary } from '../tools/list.ts'

/** Prompts by server, beside the open one. */
export function Prompts({ name, query }: PageProps) {
  const prompts = useSource(sources.prompts)
  const list = prompts.data.value?.prompts ?? []
  const { served, servers } = summary(list)
  return (
    <>
      <PageHead
        title="Prompts"
        sub={list.length > 0 && `${count(served)} served, from ${plural(servers, 'server')}.`}
      />
      <AsyncContent resource={prompts} subject="The prompts">
        {(data) =>
          data.prompts.length === 0 ? (
            <NoPrompts />
          ) : (
            <Panes prompts={data.prompts} name={name} filter={filterFrom(new URLSearchParams(query))} />
          )
        }
      </AsyncContent>
    </>
  )
}

const NoPrompts = () => (
  <EmptyPanel title="No server offers prompts">
    <p>Prompts are message templates that a server offers. Most servers offer only tools.</p>
    <div class="actions">
      <a class="btn" href={link('servers')}>
        Go to Servers
      </a>
    </div>
  </EmptyPanel>
)

const searched = ({ canonical_name, title, description }: PromptView) => [canonical_name, title, description]

interface PanesProps {
  readonly prompts: readonly PromptView[]
  readonly name: string
  readonly filter: ToolFilter
}

const keyOf = ({ canonical_name }: PromptView) => canonical_name

function Panes({ prompts, name, filter }: PanesProps) {
  const current = prompts.find((prompt) => prompt.canonical_name === name)
  return (
    <ItemPanes
      itemsName="prompt"
      placeholder="Search names and descriptions"
      items={prompts}
      keyOf={keyOf}
      current={name}
      filter={filter}
      searched={searched}
      row={(prompt, isCurrent, query) => <PromptRow prompt={prompt} isCurrent={isCurrent} query={query} />}
    >
      {current ? <PromptDetail key={name} prompt={current} /> : <NoPrompt name={name} />}
    </ItemPanes>
  )
}

interface PromptRowProps {
  readonly prompt: PromptView
  readonly isCurrent: boolean
  readonly query: Readonly<Record<string, string>>
}

function PromptRow({ prompt, isCurrent, query }: PromptRowProps) {
  const setEnabled = useSwitch('prompts')
  const { canonical_name: name, enabled } = prompt
  return (
    <>
      <a
        href={link('prompt', prompt.canonical_name, query)}
        data-row
        aria-current={isCurrent ? 'true' : undefined}
        class={prompt.enabled && prompt.server_enabled ? undefined : 'dim'}
      >
        <span class="t">
          <code>
            <Breakable text={prompt.name} />
          </code>
          <span class="tags">
            <ItemTags item={prompt} />
          </span>
        </span>
        {prompt.description && (
          <span class="d">
            <UntrustedText text={prompt.description.slice(0, 300)} />
          </span>
        )}
      </a>
      <RowSwitch name={name} enabled={enabled} onSwitch={(next) => setEnabled(name, next)} />
    </>
  )
}

const NoPrompt = ({ name }: { name: string }) => (
  <section class="det none" aria-label="Prompt">
    {name ? (
      <h2 data-arrival tabIndex={-1}>
        No prompt named <UntrustedText text={name} />
      </h2>
    ) : (
      <p class="muted">Choose a prompt to read it and to render it with arguments.</p>
    )}
  </section>
)
