import { printJson, type Json } from '../form/json.ts'
import { highlight } from './highlight.ts'
import { UntrustedText } from './untrusted-text.tsx'

/** Characters above which colours make the page slow. */
const MAX_COLOURED = 100_000

/** Value as indented JSON with coloured keys and strings. Built from text nodes only. */
export const JsonView = ({ value, label }: { value: unknown; label?: string | undefined }) => (
  <JsonText text={printJson(value as Json)} label={label} />
)

/** JSON text with coloured keys and strings. */
export function JsonText({ text, label }: { text: string; label?: string | undefined }) {
  const tokens = text.length > MAX_COLOURED ? [{ text, kind: undefined }] : highlight(text)
  return (
    <pre class="code" tabIndex={0} aria-label={label} role={label ? 'group' : undefined}>
      {tokens.map(({ text: part, kind }, at) =>
        kind ? (
          <span key={at} class={kind}>
            <UntrustedText text={part} />
          </span>
        ) : (
          <UntrustedText key={at} text={part} />
        )
      )}
    </pre>
  )
}
