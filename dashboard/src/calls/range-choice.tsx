import type { Range } from '../../../src/schemas/stats.ts'
import { useApp } from '../app-context.ts'
import { Segmented } from '../ui/segmented.tsx'

const options: readonly { readonly id: Range; readonly label: string }[] = [
  { id: '1h', label: '1 h' },
  { id: '24h', label: '24 h' },
  { id: '7d', label: '7 d' }
]

/** Returns the range in the URL, or 24 hours by default. */
export const rangeOf = (query: Readonly<Record<string, string>>): Range =>
  options.find(({ id }) => id === query.range)?.id ?? '24h'

export const rangeText = (range: Range): string => options.find(({ id }) => id === range)!.label

export function RangeChoice({ range }: { range: Range }) {
  const { location } = useApp()
  return (
    <Segmented
      label="Time range"
      options={options}
      current={range}
      onSelect={(next) => location.setQuery({ range: next === '24h' ? undefined : next })}
    />
  )
}
