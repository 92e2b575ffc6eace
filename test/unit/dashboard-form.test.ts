import assert from 'node:assert/strict'
import test from 'node:test'
import { isEmptyObject, type Field, type FieldOf } from '../../dashboard/src/form/field.ts'
import { fieldOf } from '../../dashboard/src/form/fields.ts'
import { type Json, parseJson, printJson } from '../../dashboard/src/form/json.ts'
import {
  blankValue,
  convertTo,
  extraNames,
  initialValue,
  canShow,
  variantFor
} from '../../dashboard/src/form/values.ts'
import { check } from '../../dashboard/src/form/check.ts'
import { byPlace, placeOf } from '../../dashboard/src/form/problems.ts'

function as<Kind extends Field['kind']>(field: Field, kind: Kind): FieldOf<Kind> {
  assert.equal(field.kind, kind)
  return field as FieldOf<Kind>
}

/** Returns the fields of an object by name. */
const members = (field: Field): Record<string, Field> =>
  Object.fromEntries(
    as(field, 'object')
      .members()
      .map((member) => [member.name, member.field])
  )

const member = (schema: object, root: object = {}): Field =>
  members(fieldOf({ ...root, type: 'object', properties: { it: schema } })).it!

test('members stand in the order of the schema, with type, limits and whether they are required', () => {
  const field = fieldOf({
    type: 'object',
    properties: {
      owner: { type: 'string', description: 'Repository owner' },
      milestone: { type: 'integer', minimum: 0 },
      ratio: { type: 'number', exclusiveMinimum: 0, maximum: 1 },
      labels: { type: 'array', items: { type: 'string' }, maxItems: 5 },
      since: { type: 'string', format: 'date-time' },
      code: { type: 'string', minLength: 2, maxLength: 8, pattern: '^[a-z]+$' },
      draft: { type: 'boolean' }
    },
    required: ['owner', 'since']
  })
  assert.deepEqual(
    as(field, 'object')
      .members()
      .map(({ name, required, field: { kind, type } }) => [name, required, kind, type]),
    [
      ['owner', true, 'text', 'string'],
      ['milestone', false, 'number', 'integer ≥ 0'],
      ['ratio', false, 'number', 'number > 0, ≤ 1'],
      ['labels', false, 'list', 'string[] ≤ 5 items'],
      ['since', true, 'text', 'date-time'],
      ['code', false, 'text', 'string 2–8 characters'],
      ['draft', false, 'boolean', 'boolean']
    ]
  )
  assert.equal(members(field).owner!.description, 'Repository owner')
  assert.deepEqual(members(field).code!.hints, ['Matches ^[a-z]+$'])
})

test('an object of more members than anybody would look through is written as JSON', () => {
  const properties = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`m${i}`, { type: 'string' }]))
  for (const [schema, count] of [
    [{ type: 'object', properties }, 10_000],
    [{ type: 'object', required: Object.keys(properties).slice(0, 301) }, 301]
  ] as const) {
    const { kind, reason } = as(fieldOf(schema), 'json')
    assert.deepEqual([kind, reason], ['json', `A form of ${count} members would be too long`])
    assert.equal(initialValue(fieldOf(schema)), undefined)
  }
  const some = Object.fromEntries(Object.entries(properties).slice(0, 300))
  assert.equal(fieldOf({ type: 'object', properties: some }).kind, 'object')
})

test('a local reference is followed, and what stands beside it wins', () => {
  const schema = {
    type: 'object',
    properties: {
      from: { $ref: '#/$defs/point', description: 'Start' },
      odd: { $ref: '#/$defs/a~1b%20c' },
      named: { $ref: '#corner' }
    },
    $defs: {
      point: { type: 'object', description: 'A point', properties: { x: { type: 'number' } } },
      'a/b c': { type: 'boolean' },
      other: { $anchor: 'corner', type: 'integer' }
    }
  }
  const { from, odd, named } = members(fieldOf(schema))
  assert.equal(from!.description, 'Start')
  assert.equal(members(from!).x!.kind, 'number')
  assert.equal(odd!.kind, 'boolean')
  assert.equal(named!.type, 'integer')
})

test('a reference to elsewhere, or to nothing, is a JSON field that says so', () => {
  const remote = member({ $ref: 'https://example.com/schema.json' })
  assert.equal(as(remote, 'json').reason, 'https://example.com/schema.json is not part of this schema')
  assert.equal(member({ $ref: '#/$defs/gone' }).kind, 'json')
  assert.equal(member({ $ref: '#/constructor' }).kind, 'json')
})

test('a schema that holds itself is drawn as far as it is opened', () => {
  const node = {
    type: 'object',
    properties: { value: { type: 'string' }, children: { type: 'array', items: { $ref: '#/$defs/node' } } }
  }
  let field = member({ $ref: '#/$defs/node' }, { $defs: { node } })
  for (let depth = 0; depth < 3; depth++) {
    assert.equal(members(field).value!.kind, 'text')
    field = as(members(field).children!, 'list').item!()
  }
})

test('a reference to itself alone, and one that requires itself without end, come to an end', () => {
  assert.equal(member({ $ref: '#/$defs/loop' }, { $defs: { loop: { $ref: '#/$defs/loop' } } }).kind, 'json')
  let field = fieldOf({ type: 'object', properties: { next: { $ref: '#' } }, required: ['next'] })
  let depth = 0
  while (field.kind === 'object') {
    field = members(field).next!
    depth++
  }
  assert.equal(field.kind, 'json')
  assert.ok(depth < 20)
})

test('a chain of doubled references does not grow without end', () => {
  const $defs: Record<string, object> = { last: { type: 'string' } }
  for (let i = 0; i < 60; i++) {
    const next = { $ref: `#/$defs/${i === 0 ? 'last' : `d${i - 1}`}` }
    $defs[`d${i}`] = { allOf: [next, next] }
  }
  assert.ok(member({ $ref: '#/$defs/d59' }, { $defs }))
})

test('allOf is one object: members and requirements of all, the narrower limits', () => {
  const field = fieldOf({
    allOf: [
      { type: 'object', properties: { a: { type: 'number', minimum: 1 }, b: { type: 'string' } }, required: ['a'] },
      { properties: { a: { type: 'integer', minimum: 5, maximum: 9 }, c: { enum: ['x', 'y', 'z'] } }, required: ['c'] },
      { properties: { c: { enum: ['y', 'z', 'w'] } } }
    ]
  })
  assert.deepEqual(
    as(field, 'object')
      .members()
      .map(({ name, required }) => `${name}${required ? '!' : ''}`),
    ['a!', 'b', 'c!']
  )
  assert.equal(members(field).a!.type, 'integer 5–9')
  assert.deepEqual(
    as(members(field).c!, 'choice').options.map(({ value }) => value),
    ['y', 'z']
  )
})

test('what holds under a condition can be filled in, and is not required', () => {
  const field = fieldOf({
    type: 'object',
    properties: { kind: { type: 'string' } },
    if: { properties: { kind: { const: 'a' } } },
    then: { properties: { extra: { type: 'number' } }, required: ['extra'] },
    else: { properties: { other: { type: 'boolean' } } }
  })
  assert.deepEqual(
    as(field, 'object')
      .members()
      .map(({ name, required }) => [name, required]),
    [
      ['kind', false],
      ['extra', false],
      ['other', false]
    ]
  )
})

test('oneOf and anyOf of objects are a chooser whose forms hold the shared members too', () => {
  for (const keyword of ['oneOf', 'anyOf']) {
    const field = fieldOf({
      type: 'object',
      properties: { id: { type: 'string' } },
      [keyword]: [
        { properties: { kind: { const: 'file' }, path: { type: 'string' } }, required: ['path'] },
        { title: 'A link', properties: { kind: { const: 'link' }, url: { type: 'string', format: 'uri' } } }
      ]
    })
    const variants = as(field, 'union').variants()
    assert.deepEqual(
      variants.map(({ label }) => label),
      ['kind: file', 'A link']
    )
    assert.deepEqual(Object.keys(members(variants[0]!.field)).toSorted(), ['id', 'kind', 'path'])
    assert.equal(as(members(variants[1]!.field).kind!, 'fixed').value, 'link')
  }
})

test('alternatives that only ask for members are a hint, not a chooser', () => {
  const properties = { id: { type: 'string' }, name: { type: 'string' } }
  const field = fieldOf({ type: 'object', properties, anyOf: [{ required: ['id'] }, { required: ['name'] }] })
  assert.equal(field.kind, 'object')
  assert.deepEqual(field.hints, ['Needs at least one of: id, or name'])
})

test('something or null is that something, nullable, by anyOf and by a list of types', () => {
  const byUnion = member({ anyOf: [{ type: 'integer', minimum: 1 }, { type: 'null' }], default: null, title: 'Limit' })
  assert.deepEqual([byUnion.kind, byUnion.nullable, byUnion.type], ['number', true, 'integer ≥ 1 | null'])
  assert.deepEqual([byUnion.title, byUnion.fallback], ['Limit', null])
  const byTypes = member({ type: ['string', 'null'], maxLength: 3 })
  assert.deepEqual([byTypes.kind, byTypes.nullable, byTypes.type], ['text', true, 'string ≤ 3 characters | null'])
})

test('several types are a chooser of types', () => {
  const field = member({ type: ['string', 'integer', 'null'], description: 'Id or name' })
  assert.deepEqual([field.type, field.nullable, field.description], ['string | integer | null', true, 'Id or name'])
  assert.deepEqual(
    as(field, 'union')
      .variants()
      .map(({ label, field: { kind } }) => [label, kind]),
    [
      ['string', 'text'],
      ['integer', 'number']
    ]
  )
})

test('enum, const and alternatives of constants are choices, with titles as labels', () => {
  assert.deepEqual(as(member({ enum: ['a', 2, null, ''] }), 'choice').options, [
    { label: 'a', value: 'a' },
    { label: '2', value: 2 },
    { label: 'null', value: null },
    { label: '""', value: '' }
  ])
  assert.equal(as(member({ const: 'only' }), 'fixed').value, 'only')
  assert.deepEqual(as(member({ oneOf: [{ const: 1, title: 'One' }, { const: 2 }] }), 'choice').options, [
    { label: 'One', value: 1 },
    { label: '2', value: 2 }
  ])
})

test('lists of texts and numbers are tags, other lists rows, tuples have a field for each place', () => {
  assert.ok(as(member({ type: 'array', items: { type: 'number' } }), 'list').isTags)
  const rows = as(member({ type: 'array', items: { type: 'object', properties: { a: {} } } }), 'list')
  assert.equal(rows.isTags, false)
  assert.equal(rows.type, 'object[]')
  assert.equal(as(member({ type: 'array', items: { enum: ['a', 'b'] } }), 'list').isTags, false)
  const tuple = as(member({ prefixItems: [{ type: 'number' }, { type: 'string' }], items: false }), 'list')
  assert.deepEqual(
    tuple.lead().map(({ kind }) => kind),
    ['number', 'text']
  )
  assert.equal(tuple.item, undefined)
  const draft7 = as(
    member({ type: 'array', items: [{ type: 'boolean' }], additionalItems: { type: 'string' } }),
    'list'
  )
  assert.equal(draft7.lead()[0]!.kind, 'boolean')
  assert.equal(draft7.item!().kind, 'text')
})

test('members that the schema does not name are rows of keys and values', () => {
  const extra = (schema: object) => as(member({ type: 'object', ...schema }), 'object').extra?.().kind
  assert.equal(extra({ additionalProperties: { type: 'string' } }), 'text')
  assert.equal(extra({ properties: { a: {} }, additionalProperties: true }), 'json')
  assert.equal(extra({ patternProperties: { '^x-': { type: 'number' } }, additionalProperties: false }), 'number')
  assert.equal(extra({}), 'json', 'an object of which nothing is said may hold anything')
  assert.equal(extra({ properties: { a: {} } }), undefined)
  assert.equal(extra({ properties: { a: {} }, additionalProperties: false }), undefined)
})

test('a schema without a type is told by its keywords, and where there are none any JSON is taken', () => {
  assert.equal(member({ minLength: 1 }).kind, 'text')
  assert.equal(member({ maximum: 1 }).kind, 'number')
  assert.equal(member({ items: {} }).kind, 'list')
  assert.equal(member({ properties: { a: {} } }).kind, 'object')
  assert.equal(member({}).kind, 'json')
  assert.equal(fieldOf({ type: 'object', properties: { any: true } }).kind, 'object')
})

test('a required member that is described nowhere is asked for', () => {
  const field = fieldOf({ type: 'object', properties: { a: { type: 'string' } }, required: ['a', 'b'] })
  assert.deepEqual(
    as(field, 'object')
      .members()
      .map(({ name, required, field: { kind } }) => [name, required, kind]),
    [
      ['a', true, 'text'],
      ['b', true, 'json']
    ]
  )
})

test('numbers of a schema that a double would change are shown and offered as they are', () => {
  const schema = parseJson(
    '{"properties":{"id":{"type":"integer","minimum":9007199254740993},"pick":{"enum":[9007199254740993,1]},' +
      '"only":{"allOf":[{"enum":[9007199254740993,9007199254740992]},{"enum":[9007199254740993]}]}}}'
  )
  const [id, pick, only] = as(fieldOf(schema), 'object').members()
  assert.equal(id!.field.type, 'integer ≥ 9007199254740993')
  const labels = (field: Field) => as(field, 'choice').options.map(({ label }) => label)
  assert.deepEqual(labels(pick!.field), ['9007199254740993', '1'])
  assert.deepEqual(labels(only!.field), ['9007199254740993'])
})

test('only a tool that takes nothing has an empty form', () => {
  assert.ok(isEmptyObject(fieldOf({ type: 'object' })))
  assert.ok(isEmptyObject(fieldOf({ type: 'object', properties: {}, additionalProperties: false })))
  assert.ok(!isEmptyObject(fieldOf({ type: 'object', additionalProperties: true })))
  assert.ok(!isEmptyObject(fieldOf({ type: 'object', patternProperties: { '^x': {} } })))
  assert.ok(!isEmptyObject(fieldOf({ type: 'object', required: ['a'] })))
  assert.ok(!isEmptyObject(fieldOf({ $ref: '#/$defs/a', $defs: { a: { properties: { b: {} } } } })))
  assert.ok(!isEmptyObject(fieldOf({ oneOf: [{ properties: { a: {} } }, { properties: { b: {} } }] })))
  assert.ok(!isEmptyObject(fieldOf({})))
})

test('names like those of every object are names like others', () => {
  const field = fieldOf(
    JSON.parse(
      '{"type":"object","properties":{"constructor":{"type":"string"},"__proto__":{"type":"number"}},"required":["toString"]}'
    )
  )
  assert.deepEqual(
    as(field, 'object')
      .members()
      .map(({ name, field: { kind } }) => [name, kind]),
    [
      ['constructor', 'text'],
      ['__proto__', 'number'],
      ['toString', 'json']
    ]
  )
})

test('nonsense where keywords stand is no reason to fail', () => {
  for (const schema of [
    null,
    7,
    'x',
    [],
    { type: 7 },
    { properties: 'x', required: 'y' },
    { oneOf: {} },
    { items: 5 },
    { $ref: 5 },
    { enum: 'x' },
    { type: [] }
  ]) {
    assert.ok(fieldOf({ type: 'object', properties: { it: schema } }).kind)
    const root = fieldOf(schema)
    if (root.kind === 'object') assert.ok(root.members())
  }
})

const file = {
  properties: { kind: { const: 'file' }, path: { type: 'string' }, note: { type: 'string' } },
  required: ['kind', 'path']
}
const link = {
  properties: { kind: { const: 'link' }, url: { type: 'string' }, note: { type: 'string' } },
  required: ['kind', 'url']
}
const union = fieldOf({ type: 'object', oneOf: [file, link] }) as FieldOf<'union'>
const variants = union.variants()

test('a form begins with what must be there and is known, and leaves the rest to the upstream', () => {
  const field = fieldOf({
    type: 'object',
    properties: {
      name: { type: 'string' },
      size: { type: 'integer', default: 10 },
      unit: { type: 'string', default: 'px' },
      kind: { const: 'shape' },
      only: { enum: ['one'] },
      filter: { type: 'object', properties: { deep: { type: 'boolean', default: true } }, required: ['deep'] },
      tags: { type: 'array', items: { type: 'string' } },
      maybe: { type: 'object', properties: {} }
    },
    required: ['name', 'size', 'kind', 'only', 'filter', 'tags']
  })
  assert.deepEqual(initialValue(field), { size: 10, kind: 'shape', only: 'one', filter: { deep: true }, tags: [] })
})

test('a schema that requires itself without end begins with something finite', () => {
  const properties = { a: { $ref: '#' }, b: { $ref: '#' }, c: { $ref: '#' } }
  assert.ok(initialValue(fieldOf({ type: 'object', properties, required: ['a', 'b', 'c'] })))
})

test('a part that is added by hand is there', () => {
  const item = (schema: object) => blankValue(fieldOf(schema))
  assert.deepEqual(
    [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }, { enum: ['a'] }, { type: 'object' }, {}].map(item),
    ['', 0, false, 'a', {}, null]
  )
})

test('the form that is shown follows from the value, unless one that suits it was chosen', () => {
  assert.equal(variantFor(variants, { kind: 'link', url: 'x' }, undefined), 1)
  assert.equal(variantFor(variants, { kind: 'link' }, 0), 1, 'the chosen one does not suit')
  assert.equal(variantFor(variants, {}, 1), 1)
  assert.equal(variantFor(variants, undefined, undefined), -1)
  const mixed = (fieldOf({ type: ['string', 'integer', 'array', 'boolean'] }) as FieldOf<'union'>).variants()
  assert.deepEqual(
    ['x', 5, [], true].map((value) => variantFor(mixed, value, undefined)),
    [0, 1, 2, 3]
  )
  assert.equal(variantFor(mixed, parseJson('12345678901234567890'), undefined), 1)
})

test('another form keeps what has the same name, and takes its own constants', () => {
  const value = { kind: 'file', path: 'a.txt', note: 'n' }
  assert.deepEqual(convertTo(variants[1]!.field, value), { kind: 'link', note: 'n' })
})

test('another type keeps what suits it, and begins anew with what does not', () => {
  const [text, list] = (fieldOf({ type: ['string', 'array'] }) as FieldOf<'union'>).variants()
  assert.equal(convertTo(text!.field, 'x'), 'x')
  assert.deepEqual(convertTo(list!.field, 'x'), [])
  assert.equal(convertTo(text!.field, []), undefined)
})

test('what a field cannot show is known, so that it is edited as JSON and not lost', () => {
  const text = fieldOf({ type: 'string' })
  assert.ok(canShow(text, 'x'))
  assert.ok(canShow(text, undefined))
  assert.ok(!canShow(text, 5))
  assert.ok(!canShow(fieldOf({ type: 'integer' }), 1.5))
  assert.ok(canShow(fieldOf({ type: ['integer', 'null'] }), null))
  assert.ok(!canShow(fieldOf({ enum: ['a'] }), 'b'))
  assert.ok(!canShow(fieldOf({ type: 'object', properties: { a: {} } }), 'text'))
})

test('members that the schema does not list are named', () => {
  const field = fieldOf({ type: 'object', properties: { a: { type: 'string' } } }) as FieldOf<'object'>
  assert.deepEqual(extraNames(field, { a: 'x', b: 1, c: null }), ['b', 'c'])
})

test('a pasted value goes through the form and back without a change', () => {
  const text = '{"id":12345678901234567890,"odd":{"":[null,1.5e-9]},"a":"x\\r\\ny"}'
  assert.equal(printJson(parseJson(text), 0), text)
})

/** Returns the messages by place. */
const problems = (schema: object, value: Json) => Object.fromEntries(byPlace(check(schema, value)))

test('each problem stands at its field, in words for a person', () => {
  const schema = {
    type: 'object',
    properties: {
      repo: { type: 'string' },
      count: { type: 'integer', minimum: 1, maximum: 9 },
      ratio: { exclusiveMinimum: 0 },
      name: { type: 'string', minLength: 2, pattern: '^[a-z]+$' },
      kind: { enum: ['a', 'b'] },
      when: { type: 'string', format: 'date-time' },
      list: { type: 'array', items: { type: 'number' }, maxItems: 2, uniqueItems: true },
      'a/b ~c': { type: 'boolean' }
    },
    required: ['repo'],
    additionalProperties: false
  }
  assert.deepEqual(
    problems(schema, {
      count: 0,
      ratio: 0,
      name: 'A',
      kind: 'c',
      when: 'soon',
      list: [1, 1, 'x'],
      'a/b ~c': 'yes',
      other: 1
    }),
    {
      '/repo': 'repo is required',
      '/count': 'Must be at least 1',
      '/ratio': 'Must be more than 0',
      '/name': 'Needs at least 2 characters. Does not match the pattern',
      '/kind': 'Must be one of "a","b"',
      '/when': 'Not a valid date-time',
      '/list': 'At most 2 items allowed. Contains duplicate items',
      '/list/2': 'Must be a number',
      '/a~1b ~0c': 'Must be a boolean',
      '/other': 'The schema does not allow this property'
    }
  )
})

test('a sound value has no problems, exact numbers included', () => {
  const schema = { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] }
  assert.deepEqual(check(schema, parseJson('{"id":12345678901234567890}')), [])
})

test('references and nested places are followed', () => {
  const schema = {
    type: 'object',
    properties: { nodes: { type: 'array', items: { $ref: '#/$defs/node' } } },
    $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } }, required: ['id'] } }
  }
  assert.deepEqual(problems(schema, { nodes: [{ id: 1 }, { id: 2, next: {} }] }), {
    '/nodes/1/next/id': 'id is required'
  })
})

test('of forms that all fail, the problems of the one that is meant are told', () => {
  const oneOf = [
    { properties: { kind: { const: 'file' }, path: { type: 'string' } }, required: ['kind', 'path'] },
    { properties: { kind: { const: 'link' }, url: { type: 'string' } }, required: ['kind', 'url'] }
  ]
  assert.deepEqual(problems({ type: 'object', oneOf }, { kind: 'link' }), { '/url': 'url is required' })
  assert.deepEqual(problems({ type: 'object', oneOf }, { kind: 'other' }), { '': 'Matches none of the forms' })
})

test('types that all differ are told as one problem', () => {
  const schema = { properties: { id: { anyOf: [{ type: 'string' }, { type: 'integer' }] } } }
  assert.deepEqual(problems(schema, { id: true }), { '/id': 'Matches none of the forms' })
  assert.deepEqual(problems({ properties: { id: { type: ['string', 'integer'] } } }, { id: true }), {
    '/id': 'Must be a string or an integer'
  })
})

test('alternatives that only ask for members say which', () => {
  const anyOf = [{ required: ['id'] }, { required: ['name'] }]
  assert.deepEqual(problems({ type: 'object', anyOf }, {}), { '': 'Needs id, or name' })
  assert.deepEqual(problems({ type: 'object', oneOf: anyOf }, { id: 1, name: 'x' }), {
    '': 'Matches more than one of the forms'
  })
})

test('items with alternatives are told apart', () => {
  const items = {
    oneOf: [{ type: 'object', properties: { a: { type: 'number' } }, required: ['a'] }, { type: 'string' }]
  }
  assert.deepEqual(problems({ properties: { list: { type: 'array', items } } }, { list: ['x', {}, { a: 'y' }] }), {
    '/list/1/a': 'a is required',
    '/list/2/a': 'Must be a number'
  })
})

test('older dialects are read as such', () => {
  const items = [{ type: 'string' }]
  const draft7 = { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object', properties: { list: { items } } }
  assert.deepEqual(problems(draft7, { list: [5] }), { '/list/0': 'Must be a string' })
})

test('the schema is left as it is, and one that is not sound is an error', () => {
  const schema = Object.freeze({ type: 'object', properties: Object.freeze({ a: Object.freeze({ type: 'string' }) }) })
  assert.deepEqual(check(schema, { a: 'x' }), [])
  assert.throws(() => check({ $ref: 'https://example.com/gone.json' }, {}), /Unresolved/)
  assert.throws(() => check({ properties: { a: { pattern: '(' } } }, { a: 'x' }), SyntaxError)
})

test('places are told apart whatever the names hold', () => {
  assert.notEqual(placeOf(['a/b']), placeOf(['a', 'b']))
  assert.notEqual(placeOf(['a~1b']), placeOf(['a/b']))
})
