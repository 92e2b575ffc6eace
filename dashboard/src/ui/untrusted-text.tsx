import { Fragment } from 'preact'
import { markHidden } from '../../../src/domain/text/hidden-characters.ts'

/** Untrusted text, rendered as text; hidden characters become marks (`U+200B`). */
export const UntrustedText = ({ text }: { text: string }) => (
  <>
    {markHidden(text).map((segment, at) =>
      'text' in segment ? (
        segment.text
      ) : (
        <span key={at} class="inv">
          {segment.mark}
        </span>
      )
    )}
  </>
)

/** Returns untrusted text with hidden characters marked, for options and labels that allow only text. */
export const untrustedText = (text: string): string =>
  markHidden(text)
    .map((segment) => ('text' in segment ? segment.text : `[${segment.mark}]`))
    .join('')

/** Public name, `<server>__<item>`, with line breaks allowed after the prefix and at `_`. */
export function QualifiedName({ name }: { name: string }) {
  const at = name.indexOf('__')
  const [prefix, own] = at < 0 ? ['', name] : [name.slice(0, at + 2), name.slice(at + 2)]
  return (
    <code>
      {prefix && (
        <span class="muted">
          <UntrustedText text={prefix} />
          <wbr />
        </span>
      )}
      <Breakable text={own} />
    </code>
  )
}

/** Text with a line break allowed after each `_`, so that a long name does not widen its table. */
export const Breakable = ({ text }: { text: string }) => (
  <>
    {text.split(/(?<=_)(?=[^_])/).map((part, at) => (
      <Fragment key={at}>
        <UntrustedText text={part} />
        <wbr />
      </Fragment>
    ))}
  </>
)
