import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import type { Flag } from '../../../src/schemas/dashboard/shared.ts'
import { change, path } from '../api.ts'
import { useApp, useRights } from '../app-context.ts'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { Ago } from '../ui/time.tsx'
import { plural, sentence } from '../format.ts'
import { definitionText, diffLines, hunksOf, type Definition, type DiffLine } from './diff.ts'

const marks: Readonly<Record<DiffLine['change'], string>> = { same: ' ', added: '+', removed: '−' }

interface ChangeNoticeProps {
  /** Part of the API, and of the data to reload. */
  readonly kind: 'tools' | 'prompts' | 'resources'
  /** Name or URI in routes. */
  readonly name: string
  readonly changedAt: string | undefined
  /** Accepted and current definition, if known. */
  readonly before?: Definition | undefined
  readonly after?: Definition
}

/** Notice of a changed definition: the differences, and a button to accept it. */
function ChangeNotice({ kind, name, changedAt, before, after }: ChangeNoticeProps) {
  const { store, notice } = useApp()
  const { administer } = useRights()
  const failure = useSignal('')
  const [was, is] = [before, after].map((each) => each && definitionText(each))
  const hunks = useMemo(() => (was === undefined || is === undefined ? [] : hunksOf(diffLines(was, is))), [was, is])
  const accept = async () => {
    failure.value = ''
    try {
      await change('POST', path(kind, name, 'accept'))
      notice.value = `The definition of ${name} is accepted`
      await store.refresh(new Set([kind]))
    } catch (error) {
      failure.value = (error as Error).message
    }
  }
  return (
    <section class="changed" aria-label="Changed definition">
      <div class="row">
        <p>
          <strong>The server changed this definition</strong>
          {changedAt && (
            <>
              {' '}
              <Ago at={changedAt} />
            </>
          )}
          . Agents read the new one.
        </p>
        {administer && (
          <button type="button" class="btn" onClick={() => void accept()}>
            Accept
          </button>
        )}
      </div>
      {failure.value && (
        <p class="err" role="alert">
          {failure.value}
        </p>
      )}
      {was !== undefined && was === is && <p class="help">The change is in a part that is not shown here.</p>}
      {hunks.length > 0 && (
        <pre class="code diff" tabIndex={0} role="group" aria-label="What changed">
          {hunks.map((hunk, at) => (
            <div key={at}>
              {hunk.skipped > 0 && <div class="muted"> {plural(hunk.skipped, 'line')} unchanged</div>}
              {hunk.lines.map(({ change: kind, text }, index) => (
                <div key={index} class={kind}>
                  {marks[kind]} <UntrustedText text={text} />
                </div>
              ))}
            </div>
          ))}
        </pre>
      )}
    </section>
  )
}

const itemNames = { tools: 'tool', prompts: 'prompt', resources: 'resource' } as const

interface ItemNoticesProps extends Pick<ChangeNoticeProps, 'kind' | 'name'> {
  readonly item: Definition & {
    readonly problem?: string | undefined
    readonly flags: readonly Flag[]
    readonly changed_at?: string | undefined
    readonly accepted?: Definition | undefined
  }
}

/** Warnings about an item before an agent uses it. */
export const ItemNotices = ({ kind, name, item }: ItemNoticesProps) => (
  <>
    {item.problem && (
      <p class="banner err">
        <strong>Agents cannot use this {itemNames[kind]}.</strong> <UntrustedText text={sentence(item.problem)} />
      </p>
    )}
    {item.flags.includes('changed') && (
      <ChangeNotice
        kind={kind}
        name={name}
        changedAt={item.changed_at}
        before={item.accepted}
        // the accepted fingerprint of tools and prompts does not include the name
        after={kind === 'resources' ? item : { ...item, name: undefined }}
      />
    )}
  </>
)
