import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  argumentProblem,
  editInputSchema,
  inputSchemaOf,
  propertyType
} from '../../src/catalog/overrides/argument-schema.ts'
import { ArgumentsRefused, compileArguments } from '../../src/catalog/overrides/edit-arguments.ts'
import type { ArgumentOverride } from '../../src/domain/overrides/tool-overrides.ts'
import { editMembers } from '../../src/json/json.ts'

const schemaOf = (inputSchema: object | string) => {
  const text = typeof inputSchema === 'string' ? inputSchema : JSON.stringify(inputSchema)
  return inputSchemaOf(`{"name":"t","inputSchema":${text}}`)
}
const object = (properties: object, more: object = {}) => schemaOf({ type: 'object', properties, ...more })
const problem = (schema: ReturnType<typeof schemaOf>, name: string, override: ArgumentOverride = { lock: 1 }) =>
  argumentProblem(schema, name, override)

test('members are replaced, added and removed, and everything else stays byte for byte', () => {
  const text = '{ "a" : 1.0e0,"b":"\\u00fc" , "__proto__":{"x":1},"a\\u0062":2 }'
  const changes = new Map<string, string | null>([
    ['a', null],
    ['new', '[1]'],
    ['gone', null]
  ])
  assert.equal(editMembers(text, changes), '{"b":"\\u00fc","__proto__":{"x":1},"a\\u0062":2,"new":[1]}')
  assert.equal(
    editMembers(text, new Map([['ab', '3']])),
    '{"a" : 1.0e0,"b":"\\u00fc","__proto__":{"x":1},"a\\u0062":3}'
  )
  assert.equal(editMembers(text, new Map([['__proto__', null]])), '{"a" : 1.0e0,"b":"\\u00fc","a\\u0062":2}')
  assert.equal(editMembers('{}', new Map([['constructor', '1']])), '{"constructor":1}')
})

test('a property is changed only where the schema says nothing else about it', () => {
  const rest = { required: ['b'] }
  for (const keyword of ['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else']) {
    const schema = object({ a: {}, b: {} }, { [keyword]: keyword.endsWith('Of') ? [rest] : rest })
    assert.equal(problem(schema, 'a'), undefined)
    assert.equal(problem(schema, 'b'), `cannot be changed: the input schema also names it in "${keyword}"`)
  }
  for (const keyword of ['dependentRequired', 'dependentSchemas', 'dependencies']) {
    const schema = object({ a: {}, b: {}, c: {} }, { [keyword]: { b: ['a'] } })
    for (const name of ['a', 'b']) assert.match(problem(schema, name)!, new RegExp(keyword))
    assert.equal(problem(schema, 'c'), undefined)
  }
  const referring = object({ a: {}, b: {} }, { $ref: '#/$defs/x', $defs: { x: { required: ['b'] } } })
  assert.equal(problem(referring, 'a'), undefined)
  assert.match(problem(referring, 'b')!, /\$ref/)
  assert.match(problem(object({ a: {} }, { $ref: 'https://example.com/x' }), 'a')!, /cannot be followed/)
})

test('only properties that are there can be changed, whatever their names', () => {
  for (const schema of [schemaOf({ type: 'object' }), schemaOf({ properties: [] }), schemaOf('true')]) {
    assert.match(problem(schema, 'a')!, /no "properties"/)
  }
  const schema = object({ constructor: { type: 'integer' } })
  for (const name of ['toString', 'hasOwnProperty', '__proto__', '']) {
    assert.equal(problem(schema, name), 'is no property of the input schema')
  }
  assert.equal(problem(schema, 'constructor'), undefined)
  const own = schemaOf('{"properties":{"__proto__":{"type":"integer"},"b":{}},"required":["__proto__"]}')
  assert.equal(problem(own, '__proto__'), undefined)
  assert.ok(typeof own !== 'string')
  const edited = editInputSchema(own, new Map([['__proto__', { lock: 1 }]]))
  assert.equal(edited, '{"properties":{"b":{}}}')
  assert.match(problem(object({ mode: {}, MODE: {} }), 'mode')!, /mistaken for "MODE"/)
})

test('values must fit the type and the enum of their property', () => {
  const schema = object({
    n: { type: 'number' },
    i: { type: ['integer', 'null'] },
    e: { enum: ['a', 'b', 0] },
    free: {},
    any: true,
    none: false
  })
  const fits: [string, ArgumentOverride][] = [
    ['n', { lock: 1 }],
    ['n', { lock: 1.5 }],
    ['i', { default: null }],
    ['i', { enum: [1, null], default: 1 }],
    ['e', { enum: ['b', 0] }],
    ['e', { lock: 'a' }],
    ['free', { lock: { deep: [1] } }],
    ['free', { lock: { secret: 'x' } }],
    ['any', { lock: 1 }]
  ]
  for (const [name, override] of fits)
    assert.equal(problem(schema, name, override), undefined, JSON.stringify(override))
  const refused: [string, ArgumentOverride][] = [
    ['n', { lock: 'x' }],
    ['n', { lock: { secret: 'x' } }],
    ['i', { lock: 1.5 }],
    ['i', { enum: [1], default: null }],
    ['e', { enum: ['a', 'c'] }],
    ['e', { lock: -0 }],
    ['e', { default: 'c' }],
    ['free', { enum: [] }],
    ['free', { enum: [[1]] }],
    ['any', { default: 1 }],
    ['none', { lock: 1 }]
  ]
  for (const [name, override] of refused) assert.ok(problem(schema, name, override), JSON.stringify([name, override]))
})

test('locked properties leave the schema, the others get their members, and the rest stays byte for byte', () => {
  const schema = schemaOf(
    '{ "type":"object","properties":{"a":{"type":"number", "minimum":1.0},"b":{ "default":1,"x":2 },"c":{}},"required":["a","b"],"additionalProperties":false,"$defs":{} }'
  )
  assert.ok(typeof schema !== 'string')
  const changes = (entries: Record<string, ArgumentOverride>) =>
    editInputSchema(schema, new Map(Object.entries(entries)))
  assert.equal(
    changes({ a: { lock: 1 } }),
    '{"type":"object","properties":{"b":{ "default":1,"x":2 },"c":{}},"required":["b"],"additionalProperties":false,"$defs":{}}'
  )
  assert.equal(
    changes({ a: { lock: 1 }, b: { default: 'ü', description: 'B', enum: ['ü'] }, c: { description: 'C' } }),
    '{"type":"object","properties":{"b":{"default":"ü","x":2,"description":"B","enum":["ü"]},"c":{"description":"C"}},"additionalProperties":false,"$defs":{}}'
  )
})

test('the type of a property changes with what it takes, not with its texts', () => {
  const typeIn = (a: unknown, more: object = {}) => {
    const schema = object({ a }, more)
    assert.ok(typeof schema !== 'string')
    return propertyType(schema, 'a')
  }
  const plain = typeIn({ type: 'string' })
  assert.equal(typeIn({ description: 'x', title: 'y', type: 'string', default: 'z', examples: [1] }), plain)
  for (const other of [{ type: 'number' }, { type: ['string', 'null'] }, {}, true, { type: 'string', format: 'uri' }]) {
    assert.notEqual(typeIn(other), plain)
  }
  const union = (description: string) => ({ anyOf: [{ type: 'string', description }, { type: 'null' }] })
  assert.equal(typeIn(union('a')), typeIn(union('b')))
  const reference = { $ref: '#/$defs/m~1x' }
  const withDefinition = (type: string) => typeIn(reference, { $defs: { 'm/x': { type } } })
  assert.notEqual(withDefinition('string'), withDefinition('number'))
  // references in circles, and many of them, end
  const circle = Object.fromEntries(
    Array.from({ length: 50 }, (_, i) => [
      `d${i}`,
      { anyOf: Array.from({ length: 50 }, (_, j) => ({ $ref: `#/$defs/d${j}` })) }
    ])
  )
  assert.ok(typeIn({ $ref: '#/$defs/d0' }, { $defs: circle }).length < 1_000_000)
})

/** Applies overrides to arguments; the name of the refused one instead. */
function apply(overrides: Record<string, ArgumentOverride>, args: string | undefined): string | undefined {
  const all = new Map(Object.entries(overrides))
  const locks = [...all].flatMap(([name, override]): [string, string][] =>
    Object.hasOwn(override, 'lock') ? [[name, JSON.stringify(override.lock)]] : []
  )
  try {
    return compileArguments(all, new Map(locks))!(args)
  } catch (error) {
    assert.ok(error instanceof ArgumentsRefused)
    return `refused ${error.argument}`
  }
}

test('locks and defaults are added after what the caller sent, which stays byte for byte', () => {
  const overrides = { b: { lock: [1, 'ü'] }, c: { default: null }, d: { description: 'only text' } }
  assert.equal(apply(overrides, undefined), '{"b":[1,"ü"],"c":null}')
  assert.equal(apply(overrides, '{}'), '{"b":[1,"ü"],"c":null}')
  assert.equal(apply(overrides, '{ }'), '{ "b":[1,"ü"],"c":null}')
  assert.equal(apply(overrides, '{ "a" : 1e0 }'), '{ "a" : 1e0 ,"b":[1,"ü"],"c":null}')
  assert.equal(apply(overrides, '{"c":5}'), '{"c":5,"b":[1,"ü"]}')
  assert.equal(apply({ c: { default: 1 } }, '{"c":null}'), '{"c":null}')
  assert.equal(compileArguments(new Map([['d', overrides.d]]), new Map()), undefined)
})

test('a locked argument is refused in every spelling that a server could read as its name', () => {
  for (const key of ['b', 'B', '\\u0062', '\\u200bb', 'b ', 'ｂ', 'b\\u0000x']) {
    assert.equal(apply({ b: { lock: 1 } }, `{"a":1,"${key}":2}`), 'refused b', key)
    assert.equal(apply({ b: { lock: 1 } }, `{"${key}":null}`), 'refused b', key)
  }
  assert.equal(apply({ b: { enum: [1] } }, '{"B":2}'), 'refused b')
  assert.equal(apply({ b: { default: 1 } }, '{"B":2}'), 'refused b')
  assert.equal(apply({ b: { default: 1 } }, '{"b":1,"b":2}'), 'refused b')
  assert.equal(apply({ b: { enum: [1, 2] } }, '{"b":1,"\\u0062":2}'), 'refused b')
  // what is nested, or only begins alike, is another one
  assert.equal(apply({ b: { lock: 1 } }, '{"bb":{"b":2},"ab":3}'), '{"bb":{"b":2},"ab":3,"b":1}')
  // a server that copies the arguments would read its members as arguments
  assert.equal(apply({ b: { lock: 1 } }, '{"__proto__":{"b":2}}'), 'refused __proto__')
  const manyKeys = `{${Array.from({ length: 2_000 }, (_, i) => `"ü${'ö'.repeat(20)}${i}":1`).join(',')}}`
  assert.equal(apply({ b: { lock: 1 } }, manyKeys), 'refused undefined')
})

test('an enum takes exactly its JSON values', () => {
  const taken = (allowed: unknown[], json: string) =>
    apply({ e: { enum: allowed } }, `{"e":${json}}`) === `{"e":${json}}`
  for (const json of ['1', '1.0', '1e0', '10e-1', '"a"', '"\\u0061"', 'true', 'null']) {
    assert.ok(taken([1, 'a', true, null], json), json)
  }
  const refused = ['-0', '1.00000000000000000001', '"1"', '[1]', '{"a":1}', 'false', '"A"', '"a "', '9007199254740993']
  for (const json of refused) assert.ok(!taken([0, 1, 'a', true, 9007199254740992], json), json)
  assert.ok(taken([0], '0') && taken([0], '0.0'))
  assert.equal(apply({ e: { enum: [1] } }, '{}'), '{}')
})
