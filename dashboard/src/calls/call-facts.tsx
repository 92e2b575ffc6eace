import type { Stats } from '../../../src/schemas/stats.ts'
import { count, durationParts, percent } from '../format.ts'
import { Fact, Facts } from '../ui/facts.tsx'

interface DurationFactProps {
  readonly label: string
  readonly ms: number | undefined
}

export function DurationFact({ label, ms }: DurationFactProps) {
  const [value, unit] = durationParts(ms)
  return <Fact label={label} value={value} note={unit} />
}

/** Number of calls, and of failed ones. */
export const CountFacts = ({ label = 'Calls', total }: { label?: string; total: Stats['total'] | undefined }) => (
  <>
    <Fact label={label} value={count(total?.calls)} />
    <Fact
      label="Failed"
      value={total ? percent(total.failed, total.calls) : '—'}
      note={total && total.failed > 0 && (total.failed === 1 ? '1 call' : `${count(total.failed)} calls`)}
      bad={(total?.failed ?? 0) > 0}
    />
  </>
)

/** Key figures of the calls in a range. */
export const CallFacts = ({ stats }: { stats: Stats | undefined }) => (
  <Facts>
    <CountFacts total={stats?.total} />
    <DurationFact label="p50" ms={stats?.total.p50_ms} />
    <DurationFact label="p95" ms={stats?.total.p95_ms} />
    <DurationFact label="p99" ms={stats?.total.p99_ms} />
    <Fact label="In flight" value={count(stats?.in_flight)} />
  </Facts>
)
