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
