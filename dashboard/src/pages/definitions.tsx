import { useSignal } from '@preact/signals'
import type { Definition, DefinitionPage } from '../../../src/schemas/definition.ts'
import { useApp, useRights, useSource } from '../app-context.ts'
import { AcceptAll, hasWarning } from '../definitions/accept-all.tsx'
import { HeldItem } from '../definitions/held-item.tsx'
import type { PageProps } from '../pages.ts'
import { link } from '../router.ts'
import * as sources from '../sources.ts'
import { PageHead } from '../ui/page-head.tsx'
import { AsyncContent, EmptyPanel } from '../ui/panels.tsx'
import { Segmented } from '../ui/segmented.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'

const states = [
  { id: '', label: 'Waiting' },
  { id: 'rejected', label: 'Rejected' }
] as const
type State = (typeof states)[number]['id']

/** Items whose changes are in sight when the page opens */
const OPEN_ITEMS = 5

const Nothing = ({ state }: { state: State }) => (
  <EmptyPanel title={state === '' ? 'Nothing waits for a decision' : 'Nothing was rejected'}>
    <p>
      What servers say to models is compared with what was accepted of it: names, descriptions, schemas, instructions.
      What a server changes or adds appears here.
    </p>
  </EmptyPanel>
)

/** Puts what has warnings first. */
const byWarnings = (items: readonly Definition[]) =>
  items.toSorted((a, b) => Number(hasWarning(b)) - Number(hasWarning(a)))

interface ListProps {
  readonly filter: { readonly state: State; readonly server: string | undefined; readonly cursor?: string | undefined }
}

/** A page of definitions, and the pages after it once somebody asks for them. */
function List({ filter }: ListProps) {
  const { state, server, cursor } = filter
  const resource = useSource(sources.definitions({ state: state || 'held', server, cursor }))
  const isFurther = useSignal(false)
  return (
    <AsyncContent resource={resource} subject="The definitions">
      {({ items, next_cursor: next }: DefinitionPage) => (
        <>
          {items.length === 0 && cursor === undefined && <Nothing state={state} />}
          {byWarnings(items).map((item, at) => (
            <HeldItem
              // another definition is another decision
              key={`${item.server} ${item.kind} ${item.name} ${item.fingerprint}`}
              item={item}
              isOpen={cursor === undefined && at < OPEN_ITEMS}
            />
          ))}
          {next !== undefined &&
            (isFurther.value ? (
              <List filter={{ ...filter, cursor: next }} />
            ) : (
              <button type="button" class="btn" onClick={() => (isFurther.value = true)}>
                Show more
              </button>
            ))}
        </>
      )}
    </AsyncContent>
  )
}

/** Definitions that differ from what was accepted: the queue of decisions. */
export function Definitions({ query }: PageProps) {
  const { location } = useApp()
  const { administer } = useRights()
  const state = states.find(({ id }) => id === query.state)?.id ?? ''
  const { server } = query
  return (
    <>
      <PageHead title="Definitions" sub="What servers have changed in what they tell models, and what is new.">
        {administer && state === '' && <AcceptAll key={server} server={server} />}
      </PageHead>
      <div class="bar">
        <Segmented<State>
          label="State"
          options={states}
          current={state}
          onSelect={(next) => location.setQuery({ state: next })}
        />
        {server !== undefined && (
          <span>
            Only of <UntrustedText text={server} />. <a href={link('definitions', '', { state })}>Of all servers</a>
          </span>
        )}
      </div>
      <div class="stack">
        <List key={`${state} ${server}`} filter={{ state, server }} />
      </div>
    </>
  )
}
