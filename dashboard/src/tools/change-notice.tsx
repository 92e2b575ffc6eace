import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import type { ToolView } from '../../../src/schemas/dashboard/tools.ts'
import { change, path } from '../api.ts'
import { useApp } from '../app-context.ts'
import { Shown } from '../components/shown.tsx'
import { Ago } from '../components/time.tsx'
import { plural } from '../format.ts'
import { definitionText, diffLines, hunksOf, type DiffLine } from './diff.ts'

const marks: Readonly<Record<DiffLine['change'], string>> = { same: ' ', added: '+', removed: '−' }

/** The present definition against the accepted one, and what clears the flag. */
export function ChangeNotice({ tool, accepted }: { tool: ToolView; accepted: NonNullable<ToolView['accepted']> }) {
  const { store, notice } = useApp()
  const failure = useSignal('')
  const hunks = useMemo(() => hunksOf(diffLines(definitionText(accepted), definitionText(tool))), [accepted, tool])
  const accept = async () => {
    failure.value = ''
    try {
      await change('POST', path('tools', tool.canonical_name, 'accept'))
      notice.value = `The definition of ${tool.canonical_name} is accepted`
      await store.refresh(new Set(['tools']))
    } catch (error) {
      failure.value = (error as Error).message
    }
  }
  return (
    <section class="changed" aria-label="Changed definition">
      <div class="row">
        <p>
          <strong>The server changed this definition</strong>
          {tool.changed_at && (
            <>
              {' '}
              <Ago at={tool.changed_at} />
            </>
          )}
          . Agents read the new one.
        </p>
        <button type="button" class="btn" onClick={() => void accept()}>
          Accept
        </button>
      </div>
      {failure.value && (
        <p class="err" role="alert">
          {failure.value}
        </p>
      )}
      <pre class="code diff" tabIndex={0} role="group" aria-label="What changed">
        {hunks.map((hunk, at) => (
          <div key={at}>
            {hunk.skipped > 0 && <div class="muted"> {plural(hunk.skipped, 'line')} unchanged</div>}
            {hunk.lines.map(({ change: kind, text }, index) => (
              <div key={index} class={kind}>
                {marks[kind]} <Shown text={text} />
              </div>
            ))}
          </div>
        ))}
      </pre>
    </section>
  )
}
