import assert from 'node:assert/strict'
import { test } from 'node:test'
import { wouldChange, type Verdict } from '../../src/domain/policy/permit.ts'
import type { Effect, PolicyRule } from '../../src/domain/policy/rule.ts'

/** Rule of which only the effect matters. */
const ruleOf = (effect: Effect): PolicyRule => ({
  ...{ name: 'decides', enabled: true, mode: 'enforce', everyone: true, subjects: {}, targets: {} },
  ...{ when: null, requireScopes: [], reason: null, effect }
})

test('PO-04 an observed policy would change a call that a weaker effect decides, and nothing lifts a deny', () => {
  const met: readonly (readonly [verdict: Verdict, by: Effect | undefined, changing: readonly Effect[]])[] = [
    ['allow', undefined, ['deny', 'confirm', 'approve']],
    ['allow', 'allow', ['deny', 'confirm', 'approve']],
    ['confirm', 'confirm', ['deny', 'approve']],
    ['approve', 'approve', ['deny']],
    ['deny', undefined, ['allow', 'confirm', 'approve']],
    // the condition of the only rule that allows was false
    ['deny', 'allow', ['allow', 'confirm', 'approve']],
    ['deny', 'deny', []]
  ]
  for (const [verdict, by, changing] of met)
    for (const effect of ['allow', 'deny', 'confirm', 'approve'] as const)
      assert.equal(
        wouldChange(effect, verdict, by && ruleOf(by)),
        changing.includes(effect),
        `observed ${effect}, ${verdict} by ${by ?? 'default'}`
      )
})
