import { printJson, type Json } from '../form/json.ts'
import { highlight } from '../highlight.ts'
import { Shown } from './shown.tsx'

/** Beyond this a page stays quick only without colours. */
const COLOURED = 100_000

/** A value as JSON, indented, keys and strings coloured. Made of text nodes. */
export const JsonView = ({ value, label }: { value: unknown; label?: string | undefined }) => (
  <JsonText text={printJson(value as Json)} label={label} />
)

/** JSON text, keys and strings coloured. */
export function JsonText({ text, label }: { text: string; label?: string | undefined }) {
  const tokens = text.length > COLOURED ? [{ text, kind: undefined }] : highlight(text)
  return (
    <pre class="code" tabIndex={0} aria-label={label} role={label ? 'group' : undefined}>
      {tokens.map(({ text: part, kind }, at) =>
        kind ? (
          <span key={at} class={kind}>
            <Shown text={part} />
          </span>
        ) : (
          <Shown key={at} text={part} />
        )
      )}
    </pre>
  )
}
