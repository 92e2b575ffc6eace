import type { Client, Pool as UndiciPool } from 'undici'
import { HoldingPool, type HoldingPoolOptions } from './holding-pool.ts'
import { paceEnd, released } from './pace-end.ts'
import { kClients, kClose } from './undici-parts.ts'

type CloseAll = () => Promise<unknown>

/** Creates a pool that closes its idle connections with `paceEnd`. */
export function createClosingPool(origin: string, options: HoldingPoolOptions): UndiciPool {
  const pool = new HoldingPool(origin, options)
  const closeAll = (Reflect.get(pool, kClose) as CloseAll).bind(pool)
  // `close` destroys an idle connection too, but later, in one turn with all others
  const closeOne = (client: Client) => {
    if (client.destroyed) return
    return client.stats.size === 0 ? client.destroy(released) : client.close()
  }
  const closePaced = (client: Client) => new Promise<void>((resolve) => paceEnd(() => resolve(closeOne(client))))
  const close: CloseAll = () => {
    // undici closes the connections once it has sent the queued requests
    if (pool.stats.queued > 0) return closeAll()
    return Promise.all((Reflect.get(pool, kClients) as Client[]).map(closePaced))
  }
  Object.assign(pool, { [kClose]: close })
  return pool
}
