import { useComputed, useSignal } from '@preact/signals'
import { useEffect, useId, useMemo } from 'preact/hooks'
import { CopyButton } from '../ui/copy-button.tsx'
import { Segmented } from '../ui/segmented.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { bytes, duration, plural } from '../format.ts'
import { equalJson, isJsonObject, printJson, type Json } from '../form/json.ts'
import { validateInWorker, type ValidationResult } from '../form/validator.ts'
import { placeOf } from '../form/problems.ts'
import type { Answer } from './answer.ts'
import { blocksOf } from './blocks.ts'
import { JsonTree } from './json-tree.tsx'
import { JsonText } from '../ui/json-view.tsx'
import { BlockList } from './result-blocks.tsx'

interface ResultFrameProps {
  readonly answer: Answer
  readonly verdict?: preact.ComponentChildren
  readonly children: preact.ComponentChildren
}

/** Frame of a response: rendered view and raw JSON. */
export function ResultFrame({ answer, verdict, children }: ResultFrameProps) {
  const id = useId()
  const view = useSignal<'rendered' | 'raw'>('rendered')
  const raw = useComputed(() => (view.value === 'raw' ? printJson(answer.value) : ''))
  return (
    <div class="res" role="region" aria-labelledby={id}>
      <div class="row">
        <h3 id={id}>Result</h3>
        <span class="actions">
          {verdict}
          <span class="muted num">
            {duration(answer.ms)}, {bytes(answer.bytes)}
          </span>
          <Segmented
            label="Result as"
            options={[
              { id: 'rendered', label: 'Rendered' },
              { id: 'raw', label: 'Raw' }
            ]}
            current={view.value}
            onSelect={(next) => (view.value = next)}
          />
          <CopyButton kind="quiet" text={() => printJson(answer.value)}>
            Copy JSON
          </CopyButton>
        </span>
      </div>
      {view.value === 'raw' ? <JsonText text={raw.value} label="Result as JSON" /> : children}
    </div>
  )
}

/** Result of a tool; `isError` results are shown as results too. */
export function ToolResult({ answer, outputSchema }: { answer: Answer; outputSchema: object | undefined }) {
  const result = isJsonObject(answer.value) ? answer.value : {}
  const { structuredContent, isError = false } = result
  const blocks = useMemo(() => blocksOf(result.content), [result.content])
  // Servers repeat structured content as text, for clients that support only text.
  const shown = blocks.filter(
    (block) => !(block.kind === 'json' && structuredContent !== undefined && equalJson(block.value, structuredContent))
  )
  const verdict = <span class={isError === true ? 'tag err' : 'tag ok'}>isError {String(isError === true)}</span>
  return (
    <ResultFrame answer={answer} verdict={verdict}>
      <BlockList blocks={shown} />
      {structuredContent !== undefined && (
        <section class="stack">
          <h4>Structured content</h4>
          <JsonTree value={structuredContent} label="Structured content" />
          {outputSchema && isError !== true && <OutputCheck value={structuredContent} schema={outputSchema} />}
          {shown.length < blocks.length && <p class="help">Text content is identical.</p>}
        </section>
      )}
      {blocks.length === 0 && structuredContent === undefined && <p class="muted">The tool returned no content.</p>}
    </ResultFrame>
  )
}

/** Shows if structured content conforms to the output schema. */
function OutputCheck({ value, schema }: { value: Json; schema: object }) {
  const judgement = useSignal<ValidationResult | undefined>(undefined)
  useEffect(() => {
    let isGone = false
    void validateInWorker(schema, value).then((found) => {
      if (!isGone) judgement.value = found
    })
    return () => {
      isGone = true
    }
  }, [judgement, value, schema])
  const found = judgement.value
  if (!found) return null
  if ('unsound' in found) {
    return (
      <p class="help">
        The output schema cannot be checked: <UntrustedText text={found.unsound} />
      </p>
    )
  }
  if (found.problems.length === 0) return <p class="help">It matches the output schema.</p>
  return (
    <div class="err">
      <p>It does not match the output schema: {plural(found.problems.length, 'problem')}.</p>
      <ul>
        {found.problems.slice(0, 20).map(({ path, message }) => (
          <li key={`${placeOf(path)} ${message}`}>
            <code>
              <UntrustedText text={placeOf(path) || '/'} />
            </code>{' '}
            <UntrustedText text={message} />
          </li>
        ))}
      </ul>
    </div>
  )
}
