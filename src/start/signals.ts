/**
 * A repeat of a signal within this time counts once: npm forwards a signal that the terminal also sent to the gateway.
 */
const ECHO_MS = 1_000

/** Calls `stop` at the first signal, and exits at the second. */
export function stopOnSignals(stop: (signal: NodeJS.Signals) => void, exit = () => process.exit(1)): void {
  let first: { readonly signal: NodeJS.Signals; readonly at: number } | undefined
  const receive = (signal: NodeJS.Signals) => {
    const now = performance.now()
    if (first?.signal === signal && now - first.at < ECHO_MS) return
    if (first) return exit()
    first = { signal, at: now }
    stop(signal)
  }
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, receive)
}
