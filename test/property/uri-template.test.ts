import assert from 'node:assert/strict'
import fc from 'fast-check'
import { matchesTemplate } from '../../src/domain/uri-template.ts'
import { holds } from './property.ts'

const operators = ['', '+', '#', '/', '?', '&', ';', '.'] as const
const literal = fc.string({ unit: fc.constantFrom('a', 'b', ':', '/', '-', '?'), maxLength: 4 })
const word = fc.string({ unit: fc.constantFrom('v', 'w', '7', '%', '_'), maxLength: 5 })
const expression = fc.record({ operator: fc.constantFrom(...operators), values: fc.array(word, { maxLength: 2 }) })

/** Expands an expression as RFC 6570 shapes it: nothing, or text that begins with the operator. */
function expand(operator: (typeof operators)[number], values: readonly string[]): string {
  if (values.length === 0) return ''
  if (operator === '?' || operator === '&') return operator + values.map((value, i) => `k${i}=${value}`).join('&')
  if (operator === '') return values.join(',')
  if (operator === '+') return values.join('/x,')
  return operator + values.join(operator === '#' ? ',' : operator)
}

const parts = fc.array(fc.tuple(literal, expression), { maxLength: 5 })

holds(
  'a template takes every expansion of its own whose values hold nothing of its literals',
  [parts, literal],
  (pairs, last) => {
    // an expression ends at the next literal, so two expressions need one between them
    const all = pairs.map(([text, each]) => [`${text}<>`, each] as const)
    const template = all.map(([text, { operator }]) => `${text}{${operator}v}`).join('') + `|${last}`
    const uri = all.map(([text, { operator, values }]) => text + expand(operator, values)).join('') + `|${last}`
    assert.ok(matchesTemplate(template, uri), `${template} ${uri}`)
  }
)

const hostile = fc.string({ unit: fc.constantFrom('{a}', '{+a}', '{/a}', 'a', 'aa', 'b', '{', '}'), maxLength: 12 })
const pattern = fc
  .tuple(hostile, hostile, fc.integer({ min: 1, max: 400 }))
  .map(([one, two, times]) => one.repeat(times) + two)

holds('what a template takes begins and ends as it does', [hostile, hostile], (template, uri) => {
  if (!matchesTemplate(template, uri)) return
  assert.ok(uri.startsWith(template.split('{')[0]!))
  assert.ok(uri.endsWith(template.slice(template.lastIndexOf('}') + 1)))
})

holds(
  'no template and no URI make it look more often than there are characters in them',
  [pattern, pattern],
  (template, uri) => {
    const before = process.cpuUsage()
    matchesTemplate(template, uri)
    assert.ok(process.cpuUsage(before).user < 200_000, `${template.length} ${uri.length}`)
  },
  300
)
