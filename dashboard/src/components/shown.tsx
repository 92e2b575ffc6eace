import { Fragment } from 'preact'
import { markHidden } from '../../../src/domain/hidden-characters.ts'

/** Text from outside: always text, its hidden characters as marks (`U+200B`). */
export const Shown = ({ text }: { text: string }) => (
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

/** The same where only text can stand: options, labels that are read out. */
export const shownText = (text: string): string =>
  markHidden(text)
    .map((segment) => ('text' in segment ? segment.text : `[${segment.mark}]`))
    .join('')

/** A qualified name, `<server>__<item>`, that may break after the prefix and at `_`. */
export function QualifiedName({ name }: { name: string }) {
  const at = name.indexOf('__')
  const [prefix, own] = at < 0 ? ['', name] : [name.slice(0, at + 2), name.slice(at + 2)]
  return (
    <code>
      {prefix && (
        <span class="muted">
          <Shown text={prefix} />
          <wbr />
        </span>
      )}
      <Breakable text={own} />
    </code>
  )
}

/** Breaks after each `_`, so that a long name does not widen its table. */
export const Breakable = ({ text }: { text: string }) => (
  <>
    {text.split(/(?<=_)(?=[^_])/).map((part, at) => (
      <Fragment key={at}>
        <Shown text={part} />
        <wbr />
      </Fragment>
    ))}
  </>
)
