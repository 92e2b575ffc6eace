import { useSignal } from '@preact/signals'
import { Chevron } from '../ui/icons.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { plural } from '../format.ts'
import { isExact, isList, numberText, printJson, type Json } from '../form/json.ts'

/** Members of one value drawn at a time. */
const PAGE = 100

/** Expandable tree of a JSON value; collapsed parts are not rendered. */
export const JsonTree = ({ value, label }: { value: Json; label: string }) => (
  <div class="code tree-json" tabIndex={0} role="group" aria-label={label}>
    <Node value={value} depth={0} />
  </div>
)

interface NodeProps {
  readonly value: Json
  readonly name?: string
  readonly depth: number
}

const Name = ({ name }: { name: string | undefined }) =>
  name === undefined ? null : (
    <>
      <span class="k">
        <UntrustedText text={name} />
      </span>
      {': '}
    </>
  )

function Leaf({ value }: { value: Json }) {
  if (typeof value === 'string') {
    return (
      <span class="s">
        <UntrustedText text={JSON.stringify(value)} />
      </span>
    )
  }
  return <>{typeof value === 'number' || isExact(value) ? numberText(value) : printJson(value, 0)}</>
}

function Node({ value, name, depth }: NodeProps) {
  const isOpen = useSignal(depth < 3)
  const shown = useSignal(PAGE)
  if (typeof value !== 'object' || value === null || isExact(value)) {
    return (
      <div>
        <Name name={name} />
        <Leaf value={value} />
      </div>
    )
  }
  const entries = isList(value) ? value.map((item, at) => [String(at), item] as const) : Object.entries(value)
  const size = isList(value) ? plural(entries.length, 'item') : plural(entries.length, 'member')
  if (entries.length === 0) {
    return (
      <div>
        <Name name={name} />
        {isList(value) ? '[]' : '{}'}
      </div>
    )
  }
  return (
    <details open={isOpen.value} onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
      <summary>
        <Chevron />
        <span>
          <Name name={name} />
          <span class="muted">{isList(value) ? `[ ${size} ]` : `{ ${size} }`}</span>
        </span>
      </summary>
      {isOpen.value && (
        <div class="inner">
          {entries.slice(0, shown.value).map(([key, member]) => (
            <Node key={key} name={key} value={member as Json} depth={depth + 1} />
          ))}
          {entries.length > shown.value && (
            <button type="button" class="btn sm" onClick={() => (shown.value += PAGE)}>
              Show {Math.min(PAGE, entries.length - shown.value)} more of {size}
            </button>
          )}
        </div>
      )}
    </details>
  )
}
