/** How node's runner is started: a test may take as long as `limit.ts` says, and a file with all of its tests this. */
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
