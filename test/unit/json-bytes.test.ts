import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  JsonError,
  MAX_DEPTH,
  MAX_MEMBERS,
  elements,
  type Member,
  members,
  skipValue,
  wholeMembers
} from '../../src/json/json.ts'
import {
  listAnswerSteps,
  looseLimits,
  type Message,
  quickResultSteps,
  messageSteps
} from '../../src/upstream/transport/message.ts'
import { membersOfBytes, skipValueSteps, wholeMemberSteps } from '../../src/json/bytes.ts'
import { complete } from '../../src/lib/time-slice.ts'

const readMessage = (bytes: Buffer) => complete(messageSteps(bytes))
const quickResult = (bytes: Buffer, id: string) => complete(quickResultSteps(bytes, id))

const everyLimits = [
  { depth: MAX_DEPTH, elements: Infinity },
  { depth: 3, elements: Infinity },
  { depth: MAX_DEPTH, elements: 2 }
]
const outcome = (run: () => number) => {
  try {
    return run()
  } catch (error) {
    assert.ok(error instanceof JsonError)
    return error.problem
  }
}

const long = 'x'.repeat(700)
const texts = [
  '{}',
  '[]',
  ' { } ',
  '[1,-2.5e+10,true,false,null,"a"]',
  '{"a":{"b":[{"c":"d\\"e\\\\"}]},"é":"ü😀"}',
  JSON.stringify({ long, escaped: JSON.stringify({ a: [long, '\\', '"', '\\"'] }) }),
  JSON.stringify({ text: `${long}\\` }),
  JSON.stringify({ text: `${'"'.repeat(600)}\\\\` }),
  JSON.stringify(`${'x'.repeat(255)}"${'x'.repeat(255)}\\`),
  '[['.repeat(32) + ']]'.repeat(32),
  '[['.repeat(33) + ']]'.repeat(33),
  '{"a" : 1 , "b" : [ 1 , 2 ] }',
  '[0,-0,10.25,1e5,1E-5,2.5e+10]',
  '[01]',
  '[1-2]',
  '[1.]',
  '[-]',
  '[1e]',
  '[+1]',
  '[1,]',
  '{"a"}',
  '{a:1}',
  '{"a":1,}',
  'tru',
  'nulL',
  `"${long}`,
  `"${long}\\"`,
  ''
]

test('bytes are read as the text is, whole and cut at every place', () => {
  for (const text of texts) {
    const bytes = Buffer.from(text)
    const step = bytes.length > 100 ? 13 : 1
    for (let length = bytes.length; length >= 0; length -= step) {
      const part = bytes.subarray(0, length)
      for (const limits of everyLimits) {
        const expected = outcome(() => skipValue(part.toString('latin1'), 0, limits))
        assert.equal(
          outcome(() => complete(skipValueSteps(part, 0, limits))),
          expected,
          part.toString().slice(0, 80)
        )
      }
    }
  }
})

test('members of bytes are those of the text, with the objects on the path, whole and cut at every place', () => {
  const path = ['result', 'result']
  const objects = [
    ...texts.filter((text) => text.trimStart().startsWith('{')),
    ...texts.map((text) => `{"result":{"result":${text || 'null'},"é":[1]},"id":"ü"} `),
    ...texts.map((text) => ` {"id":1,"result":${text || 'null'},"result":{"\\u0072esult":{"result":{}}}}`),
    '{"result":{"result":{"result":{"result":{}}}}} x',
    '{"result":[{"result":{}}]}'
  ]
  const read = (run: () => readonly Member[]) => {
    try {
      return run()
    } catch (error) {
      assert.ok(error instanceof JsonError)
      return error.problem
    }
  }
  for (const text of objects) {
    const bytes = Buffer.from(text)
    const step = bytes.length > 100 ? 13 : 1
    for (let length = bytes.length; length >= 0; length -= step) {
      const part = bytes.subarray(0, length)
      for (const limits of [...everyLimits, { ...everyLimits[0]!, members: 2 }]) {
        const expected = read(() => wholeMembers(part.toString('latin1'), limits, path))
        assert.deepEqual(
          read(() => complete(wholeMemberSteps(part, limits, path))),
          expected,
          part.toString().slice(0, 80)
        )
      }
    }
  }
})

test('a large message is read as a small one is, whatever it is', () => {
  const pad = (count: number) => JSON.stringify('x'.repeat(count))
  const layouts: readonly ((filler: string) => string)[] = [
    (filler) => `{"jsonrpc":"2.0","id":"ü","result":{"é":"é","filler":${filler},"result":{"a":1}}}`,
    (filler) => `{"id":1,"result":{"resultType":"complete"},"filler":${filler},"jsonrpc":"2.0"}`,
    (filler) => `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m","data":${filler}}}`,
    (filler) => `{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":"m","data":${filler}}}`,
    (filler) => `{"jsonrpc":"2.0","id":1,"error":[],"filler":${filler}}`,
    (filler) => `{"jsonrpc":"2.0","method":"notifications/é","params":{"a":"ü","filler":${filler}}}`,
    (filler) => `{"jsonrpc":"2.0","method":"m","id":"ü","params":{"filler":${filler}}}`,
    (filler) => `{"jsonrpc":"2.0","method":"m","id":1,"filler":${filler}}`,
    (filler) => `{"jsonrpc":"2.0","method":"m","params":[${filler}]}`,
    (filler) => `{"jsonrpc":"2.0","method":"m","params":{"a":1,"filler":${filler},"a":2}}`,
    (filler) => `{"jsonrpc":"2.0","method":1,"filler":${filler}}`,
    (filler) => `{"jsonrpc":"2.0","id":{},"method":"m","filler":${filler}}`,
    (filler) => `{"jsonrpc":"2.0","id":1,"result":[${filler}]}`,
    (filler) => `{"jsonrpc":"2.0","id":1,"result":{"filler":${filler},"a":1,"a":2}}`,
    (filler) => `{"jsonrpc":"2.0","id":1,"result":{},"error":{},"filler":${filler}}`,
    (filler) => `{"jsonrpc":"2.0","id":1,"filler":${filler}}`,
    (filler) => `{"jsonrpc":"1.0","id":1,"result":{},"filler":${filler}}`,
    (filler) => `{"jsonrpc":"2.0","id":1,"result":{"filler":${filler}}} x`
  ]
  const read = (text: string, filler: string): string => {
    const short = (part: string) => part.replaceAll(filler, '*')
    try {
      const message = readMessage(Buffer.from(text))
      if (message.kind !== 'answer') return short(JSON.stringify({ ...message, params: short(message.params) }))
      const { kind, body } = message.answer
      return JSON.stringify([message.id, kind, short(body.toString()), kind === 'result' && body.valueOf('result')])
    } catch (error) {
      return (error as Error).message.replace(/position \d+/, 'a position')
    }
  }
  for (const layout of layouts) {
    const [small, large] = [pad(100), pad(100_000)].map((filler) => read(layout(filler), filler))
    assert.equal(large, small, layout('*'))
  }
})

test('a large result is found in both layouts, and only where nothing else stands around it', () => {
  const result = JSON.stringify({ content: [{ type: 'text', text: 'ü"\\'.repeat(40_000) }] })
  const good = [
    `{"jsonrpc":"2.0","id":7,"result":${result}}`,
    `{"result":${result},"jsonrpc":"2.0","id":7}\r\n`,
    `{"jsonrpc":"2.0","id":7,"result":${result} }`.replace(' }', '} ')
  ]
  for (const text of good) assert.equal(quickResult(Buffer.from(text), '7')?.body.toString(), result)
  const other = [
    `{"jsonrpc":"2.0","id":77,"result":${result}}`,
    `{"jsonrpc":"2.0","id":7,"result":${result},"result":{}}`,
    `{"jsonrpc":"2.0","id":7,"result":${result}} x`,
    `{"result":${result},"jsonrpc":"2.0","id":77}`,
    `{"jsonrpc":"2.0","id":7,"result":${result}}${' '.repeat(200)}`
  ]
  for (const text of other) assert.equal(quickResult(Buffer.from(text), '7'), null, text.slice(-40))
  assert.throws(() => quickResult(Buffer.from(good[0]!.slice(0, -5)), '7'), JsonError)
})

test('SR-H3 an object with more members, or an array with more elements, than may be is refused where they are listed', () => {
  const object = (count: number) => `{${Array.from({ length: count }, (_, i) => `"${i}":0`).join(',')}}`
  const array = (count: number) => `[${Array.from({ length: count }, () => '0').join(',')}]`
  const readers: [string, (count: number) => number][] = [
    ['members', (count) => members(object(count)).length],
    ['members of bytes', (count) => membersOfBytes(Buffer.from(object(count))).length],
    ['elements', (count) => elements(array(count)).length]
  ]
  for (const [name, read] of readers) {
    assert.equal(read(MAX_MEMBERS), MAX_MEMBERS, name)
    assert.equal(
      outcome(() => read(MAX_MEMBERS + 1)),
      'elements',
      name
    )
  }
})

test('SR-H3 a result of more than ten thousand members is refused, large or not, wherever its id is', () => {
  const layouts = [
    (result: string) => `{"jsonrpc":"2.0","id":7,"result":${result}}`,
    (result: string) => `{"result":${result},"jsonrpc":"2.0","id":7}`,
    (result: string) => `{"id":7,"result":${result},"jsonrpc":"2.0"}`
  ]
  const wide = (count: number, value: string) => `{${`"":${value},`.repeat(count - 1)}"a":0}`
  for (const value of ['0', `"${'x'.repeat(20)}"`]) {
    for (const layout of layouts) {
      const read = (count: number) => {
        const bytes = Buffer.from(layout(wide(count, value)))
        return quickResult(bytes, '7') ?? readMessage(bytes)
      }
      assert.throws(() => read(10_001), { problem: 'elements' })
      // as many are listed; the same member twice is refused afterwards
      assert.throws(() => read(10_000), { problem: 'duplicate' })
    }
  }
})

/** Reads a result in each layout, small and larger than what is read as a string. */
function* resultsOf(result: string) {
  for (const text of ['', 'x'.repeat(70_000)]) {
    const whole = result.replace('TEXT', text)
    for (const layout of [`{"jsonrpc":"2.0","id":7,"result":${whole}}`, `{"id":7,"result":${whole},"jsonrpc":"2.0"}`]) {
      const bytes = Buffer.from(layout)
      yield () => {
        const read = quickResult(bytes, '7') ?? readMessage(bytes)
        return 'body' in read ? read.body : (read as Extract<Message, { kind: 'answer' }>).answer.body
      }
    }
  }
}

test('the members of the result of a task are known with those of the task, whatever its layout and length', () => {
  const members = '{"content" : [{"text":"TEXT"}], "_meta":{"a":[1]} ,"isError":false }'
  for (const read of resultsOf(`{"taskId":"a", "result" : ${members},"status":"completed"}`)) {
    const result = read().partOf('result')!
    assert.deepEqual(
      result.members.map(({ key }) => key),
      ['content', '_meta', 'isError']
    )
    assert.equal(result.valueOf('_meta'), '{"a":[1]}')
    assert.equal(result.has('_meta'), true)
    assert.equal(result.has('a'), false)
    assert.match(result.withChanges({ _meta: null }, '').toString(), /^\{"content" : .*\],"isError":false\}$/)
  }
  for (const read of resultsOf('{"result":{ },"text":"TEXT"}')) {
    assert.deepEqual(read().partOf('result')!.members, [])
    assert.equal(read().valueOf('text')!.startsWith('"'), true)
  }
  for (const read of resultsOf('{"result":[{}],"text":"TEXT"}')) assert.equal(read().partOf('result')!.isObject, false)
})

test('SR-C1 a member that is repeated in the result of a task is refused, whatever its layout and length', () => {
  for (const key of ['_meta', 'content', '\\u005fmeta'])
    for (const read of resultsOf(`{"status":"completed","result":{"_meta":{},"content":[],"a":"TEXT","${key}":1}}`))
      assert.throws(read, { problem: 'duplicate' })
})

test('objects as deep as allowed are read in the result of a task, and no deeper', () => {
  const nested = (depth: number) => `${'{"a":'.repeat(depth)}"TEXT"${'}'.repeat(depth)}`
  for (const read of resultsOf(`{"result":${nested(MAX_DEPTH - 1)}}`))
    assert.equal(read().partOf('result')!.isObject, true)
  for (const read of resultsOf(`{"result":${nested(MAX_DEPTH)}}`)) assert.throws(read, { problem: 'depth' })
})

test('SR-H3 a parse yields after a few thousand elements, wherever they are', () => {
  const many = (element: string) => Array<string>(100_000).fill(element).join()
  const limits = { depth: MAX_DEPTH, elements: Infinity }
  for (const text of [
    `{"a":[${many('1')}]}`,
    `{"result":{"a":{"b":[${many('null')}]}}}`,
    `{"a":{${many('"a":""')}}}`,
    `{"a":[${many('[]')}],"b":1}`
  ]) {
    for (const path of [[], ['result']]) {
      const reading = wholeMemberSteps(Buffer.from(text), limits, path)
      let yields = 0
      while (!reading.next().done) yields++
      assert.ok(yields >= 20, `${yields} of ${text.slice(0, 30)}`)
    }
  }
})

test('SR-H3 a parse of a list yields after some ten thousand bytes, whatever they are', () => {
  const size = 1_000_000
  const of = (text: string) => text.repeat(size / text.length)
  for (const page of [
    of('['),
    of('[]'),
    of('{},'),
    of('1'),
    of(' 1'),
    of('"",'),
    `${of('['.repeat(10))}${of(']'.repeat(10))}`
  ]) {
    for (const text of [
      `{"id":1,"result":{"tools":[${page}]}}`,
      `{"jsonrpc":"2.0","id":1,"result":{"tools":[${page}]}}`
    ]) {
      const bytes = Buffer.from(text)
      const reading = listAnswerSteps(bytes, [bytes])
      let yields = 0
      while (!reading.next().done) yields++
      assert.ok(yields >= 14, `${yields} of ${text.slice(0, 50)}`)
    }
  }
})

test('a loose parse finds the end of a value by its brackets and strings alone', () => {
  const end = (text: string) => outcome(() => complete(skipValueSteps(Buffer.from(text), 0, looseLimits)))
  const values = [
    '{a:01 x,,"b":["\\q" : tru]}',
    '["]",{"\\"}":{}}]',
    '"a\u0001"',
    'nope',
    '-',
    '',
    '[[[],{}],"[[["]',
    `"${long}"`
  ]
  for (const value of values) for (const rest of [',1', ']', '}]']) assert.equal(end(value + rest), value.length, value)
  for (const value of ['[}', '{]', '[{]}', '[', '["', '"', '1', '']) assert.equal(end(value), 'syntax', value)
  assert.equal(end('['.repeat(1_048_577)), 'depth')
})

test('the end of a long string is found whatever is escaped in it, wherever it is', () => {
  const parts = ['x'.repeat(250), '\\"', '\\\\', '\\u0041', 'x', 'é'.repeat(90)]
  for (let seed = 1; seed <= 300; seed++) {
    let random = seed
    const next = (below: number) => (random = (random * 48_271) % 2_147_483_647) % below
    const text = `"${Array.from({ length: 1 + next(12) }, () => parts[next(parts.length)]!.repeat(1 + next(3))).join('')}"`
    const bytes = Buffer.from(text)
    const end = complete(skipValueSteps(Buffer.concat([bytes, Buffer.from(',"b","\\"')]), 0, everyLimits[0]!))
    assert.equal(end, bytes.length, text)
    assert.equal(typeof JSON.parse(text), 'string')
  }
})
