import type { TestContext } from 'node:test'
import { descendants } from './e2e/process-tree.ts'
import { startOwnCluster, type OwnCluster } from './postgres.ts'
import { later } from './store.ts'

/** A PostgreSQL that the test does with as it likes. */
export interface OwnPostgres extends OwnCluster {
  /** Stops every process of it where it is (SIGSTOP). */
  freeze(): void
  thaw(): void
}

/** Removed after the test. */
export async function startOwnPostgres(t: TestContext): Promise<OwnPostgres> {
  const cluster = await startOwnCluster(process.env.TEST_POSTGRES === 'embedded')
  if (!cluster) throw new Error('no PostgreSQL found')
  let frozen: number[] = []
  const thaw = () => {
    for (const pid of frozen.splice(0)) process.kill(pid, 'SIGCONT')
  }
  later(t, async () => {
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
