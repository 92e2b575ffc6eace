/** Options for node's test runner: `limit.ts` limits a test, these limit a file with all its tests. */
export const runnerFlags = [
  '--import',
  'tsx',
  '--import',
  new URL('limit.ts', import.meta.url).href,
  '--test',
  '--test-concurrency=3',
  '--test-force-exit',
  '--test-timeout=1200000'
]
