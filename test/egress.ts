import assert from 'node:assert/strict'
import { Agent } from 'undici'
import { createEgressPolicy, parseEgressEntry } from '../src/domain/egress.ts'
import { createEgress, type EgressOptions } from '../src/gateway/egress.ts'

const rules = (entries: readonly string[]) =>
  entries.flatMap((entry) => parseEgressEntry(entry) ?? assert.fail(`no entry: ${entry}`))

/** The policy that these entries of the settings make. */
export const policyOf = ({ deny = [], allow = [] }: { deny?: readonly string[]; allow?: readonly string[] } = {}) =>
  createEgressPolicy({ deny: rules(deny), allow: rules(allow) })

/** The way out of a gateway with default settings, but for what is given. */
export function egressOf(options: Partial<EgressOptions> = {}) {
  const egress = createEgress({ policy: policyOf(), connectMs: 2_000, listenAddresses: () => [], ...options })
  const dispatcher = new Agent({ connect: egress.connector })
  return {
    ...egress,
    /** For requests through its connector. */
    dispatcher,
    close() {
      egress.close()
      void dispatcher.close().catch(() => {})
    }
  }
}

/** What a client of an upstream is given. */
export const { connector } = egressOf()
