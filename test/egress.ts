import assert from 'node:assert/strict'
import { Agent } from 'undici'
import { createEgressPolicy, parseEgressEntry } from '../src/domain/network/egress.ts'
import { createEgress, type EgressOptions } from '../src/upstream/http/egress.ts'

const rules = (entries: readonly string[]) =>
  entries.flatMap((entry) => parseEgressEntry(entry) ?? assert.fail(`no entry: ${entry}`))

/** Returns the policy of these settings. */
export const policyOf = ({ deny = [], allow = [] }: { deny?: readonly string[]; allow?: readonly string[] } = {}) =>
  createEgressPolicy({ deny: rules(deny), allow: rules(allow) })

/** Returns the egress of a gateway with default settings, except those given. */
export function egressOf(options: Partial<EgressOptions> = {}) {
  const egress = createEgress({ policy: policyOf(), connectMs: 2_000, listenAddresses: () => [], ...options })
  const dispatcher = new Agent({ connect: egress.connector })
  return {
    ...egress,
    /** Dispatcher for requests through its connector. */
    dispatcher,
    close() {
      egress.close()
      void dispatcher.close().catch(() => {})
    }
  }
}

/** The connector of an upstream's client. */
export const { connector } = egressOf()
