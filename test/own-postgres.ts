import type { TestContext } from 'node:test'
import { descendants } from './e2e/process-tree.ts'
import { startOwnCluster, type OwnCluster } from './postgres.ts'
import { addCleanup } from './store.ts'

/** A PostgreSQL server that only this test uses. */
export interface OwnPostgres extends OwnCluster {
  /** Stops every process of the server (SIGSTOP). */
  freeze(): void
  thaw(): void
}

/** Settings of a gateway whose database is frozen: requests that need it fail in seconds. */
export const impatient = {
  TOWPATH_DATABASE_CONNECT_TIMEOUT_MS: '5000',
  TOWPATH_DATABASE_QUERY_TIMEOUT_MS: '1000'
}

/** Starts a PostgreSQL server that is removed after the test. */
export async function startOwnPostgres(t: TestContext): Promise<OwnPostgres> {
  const cluster = await startOwnCluster(process.env.TEST_POSTGRES === 'embedded')
  if (!cluster) throw new Error('no PostgreSQL found')
  let frozen: number[] = []
  const thaw = () => {
    for (const pid of frozen.splice(0)) process.kill(pid, 'SIGCONT')
  }
  addCleanup(t, async () => {
    thaw()
    await cluster.stop()
  })
  return Object.assign(cluster, {
    freeze() {
      frozen = [cluster.pid, ...descendants(cluster.pid).map(({ pid }) => pid)]
      for (const pid of frozen) process.kill(pid, 'SIGSTOP')
    },
    thaw
  })
}
