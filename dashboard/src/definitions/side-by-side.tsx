import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { shownValue } from '../../../src/domain/definitions/shown.ts'
import { diffRows, hunksOf, type DiffPiece, type DiffRow } from '../../../src/domain/text/diff.ts'
import type { Definition } from '../../../src/schemas/definition.ts'
import { count, plural } from '../format.ts'
import { UntrustedText } from '../ui/untrusted-text.tsx'

type Change = Definition['changes'][number]

/** Lines that are shown before somebody asks for more: a server may send thousands. */
const MAX_LINES = 200

/** Hidden characters as the gateway marks them in texts */
const mark = /(\[U\+[0-9A-F]{4,6}\])/

/** Text of a server with its marks of hidden characters in sight. */
const MarkedText = ({ text }: { text: string }) => (
  <>
    {text.split(mark).map((part, at) =>
      at % 2 === 1 ? (
        <span key={at} class="inv">
          {part.slice(1, -1)}
        </span>
      ) : (
        <UntrustedText key={at} text={part} />
      )
    )}
  </>
)

const isChanged = ({ before, after }: DiffRow) =>
  before === undefined || after === undefined || [...before, ...after].some((piece) => piece.isChanged)

interface CellProps {
  readonly pieces: readonly DiffPiece[] | undefined
  readonly side: 'before' | 'after'
}

function Cell({ pieces, side }: CellProps) {
  if (pieces === undefined) return <td class="gone" />
  const Mark = side === 'before' ? 'del' : 'ins'
  return (
    <td class={pieces.some((piece) => piece.isChanged) ? side : undefined}>
      {pieces.map(({ text, isChanged: isNew }, at) =>
        isNew ? (
          <Mark key={at}>
            <MarkedText text={text} />
          </Mark>
        ) : (
          <MarkedText key={at} text={text} />
        )
      )}
    </td>
  )
}

/** One changed member: the accepted value beside the present one, changed words marked; one of them if there is no other. */
export function SideBySide({ change: { member, before, after } }: { change: Change }) {
  const isWhole = useSignal(false)
  const hunks = useMemo(() => {
    const rows = diffRows(shownValue(member, before), shownValue(member, after))
    const only = (side: 'before' | 'after') => rows.filter((row) => row[side]?.some(({ text }) => text !== ''))
    return hunksOf(before === null ? only('after') : after === null ? only('before') : rows, isChanged)
  }, [member, before, after])
  const total = hunks.reduce((sum, { lines }) => sum + lines.length, 0)
  let left = isWhole.value ? Infinity : MAX_LINES
  return (
    <>
      <table class="sides">
        <caption>
          <code>
            <UntrustedText text={member} />
          </code>
        </caption>
        <thead>
          <tr>
            {before !== null && <th scope="col">Accepted</th>}
            {after !== null && <th scope="col">Now</th>}
          </tr>
        </thead>
        <tbody>
          {hunks.map((hunk, at) => {
            const lines = hunk.lines.slice(0, Math.max(0, left))
            left -= lines.length
            return (
              <>
                {hunk.skipped > 0 && lines.length > 0 && (
                  <tr key={`skipped ${at}`}>
                    <td colSpan={2} class="muted">
                      {plural(hunk.skipped, 'line')} unchanged
                    </td>
                  </tr>
                )}
                {lines.map((row, index) => (
                  <tr key={`${at} ${index}`}>
                    {before !== null && <Cell pieces={row.before} side="before" />}
                    {after !== null && <Cell pieces={row.after} side="after" />}
                  </tr>
                ))}
              </>
            )
          })}
        </tbody>
      </table>
      {total > MAX_LINES && !isWhole.value && (
        <button type="button" class="btn sm" onClick={() => (isWhole.value = true)}>
          Show all {count(total)} lines
        </button>
      )}
    </>
  )
}
