import { EXIT, type Failure } from '../io/failure.ts'

/** Returns the exit code of several failures: the common code, else the general one. */
export function combineExitCodes(failures: readonly Pick<Failure, 'exitCode'>[]): number {
  const codes = new Set(failures.map(({ exitCode }) => exitCode))
  if (codes.size === 0) return EXIT.done
  return codes.size === 1 ? [...codes][0]! : EXIT.failed
}

/** True for failures that would repeat on the next request. */
export const isFatal = ({ exitCode }: Failure): boolean =>
  exitCode === EXIT.unreachable || exitCode === EXIT.refused || exitCode === EXIT.interrupted
