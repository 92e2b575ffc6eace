import { EXIT, type Failure } from './failure.ts'

/** What several failures end with: the code that all of them have, or the general one. */
export function exitOf(failures: readonly Pick<Failure, 'exitCode'>[]): number {
  const codes = new Set(failures.map(({ exitCode }) => exitCode))
  if (codes.size === 0) return EXIT.done
  return codes.size === 1 ? [...codes][0]! : EXIT.failed
}

/** After these the next request would fail the same way. */
export const isFinal = ({ exitCode }: Failure): boolean =>
  exitCode === EXIT.unreachable || exitCode === EXIT.refused || exitCode === EXIT.interrupted
