import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  isMaskedArgument,
  isMaskedUrl,
  maskArguments,
  maskUrl,
  secretsOfArguments,
  secretsOfUrl
} from '../../src/domain/secrets/secret-parts.ts'

const hex = '8f14e45fceea167a5a36dedd4bea2543'
const uuid = '0b6f2c1e-52b5-4c1f-9d3f-0a6a5cf0a111'
const drawn = 'aB3dE5gH7jK9mN1pQ3sT5vW7'

const urls = [
  ['http://h/mcp', 'http://h/mcp', []],
  ['http://h:80/a/b?', 'http://h:80/a/b?', []],
  ['http://h/mcp?api_key=SENT', 'http://h/mcp?api_key=***', ['SENT']],
  ['http://h/mcp?a=&b=SENT%2F1&SENT2', 'http://h/mcp?a=&b=***&***', ['SENT%2F1', 'SENT/1', 'SENT2']],
  ['http://h/mcp?a=b=c;d=SENT', 'http://h/mcp?a=***;d=***', ['b=c', 'SENT']],
  [`http://h/mcp?${drawn}=`, 'http://h/mcp?***=', [drawn]],
  ['https://user:SENT@h/p', 'https://***@h/p', ['user:SENT', 'user', 'SENT']],
  ['https://SENT@h@i/p', 'https://***@i/p', ['SENT@h']],
  [`https://h/mcp/${hex}`, 'https://h/mcp/***', [hex]],
  [`https://h/s/${drawn}/mcp?k=v`, 'https://h/s/***/mcp?k=***', [drawn]],
  [`https://h/${uuid}/sse`, 'https://h/***/sse', [uuid]],
  ['https://h/some-long-name-of-a-service-v2/mcp', 'https://h/some-long-name-of-a-service-v2/mcp', []],
  ['https://h/p#access_token=SENT', 'https://h/p***', ['#access_token=SENT']],
  ['no url?SENT', 'no url?***', []]
] as const

test('SR-M1 secret parts of a URL are masked, the rest stays to the letter, and masking again changes nothing', () => {
  for (const [url, shown, secrets] of urls) {
    assert.equal(maskUrl(url), shown)
    assert.equal(maskUrl(shown), shown)
    for (const secret of secrets) assert.ok(secretsOfUrl(url).includes(secret), `${secret} of ${url}`)
    assert.equal(isMaskedUrl(url), false, url)
    if (url !== shown && !url.includes('#') && url.includes('//')) assert.equal(isMaskedUrl(shown), true, shown)
  }
})

const argumentLists = [
  [
    ['--port=80', '-y', 'package@1.2.3', '/a/b', 'x'],
    ['--port=80', '-y', 'package@1.2.3', '/a/b', 'x']
  ],
  [
    ['--token', 'SENT', '--api-key=SENT', 'DB_PASSWORD=SENT'],
    ['--token', '***', '--api-key=***', 'DB_PASSWORD=***']
  ],
  [
    ['postgres://u:SENT@h/db', '--db=mysql://u:SENT@h/db?x=y', '-e', 'URL=http://h/?k=SENT', 'http://h/p'],
    ['postgres://***', '--db=mysql://***', '-e', 'URL=http://h/?k=***', 'http://h/p']
  ],
  [
    ['--header', 'Authorization: Bearer SENT', '-H', 'X-Any:SENT', '--header=X-Key: SENT', 'Authorization: SENT'],
    ['--header', 'Authorization: ***', '-H', 'X-Any:***', '--header=X-Key: ***', 'Authorization: ***']
  ],
  [
    ['{"apiKey":"SENT"}', '--config={"token":"SENT"}', `ghp_${drawn}`, `--x=${hex}`, uuid, drawn],
    ['***', '--config=***', '***', '--x=***', uuid, '***']
  ],
  [
    ['say', 'Bearer SENT-SENT', `http://h/${hex}/x`],
    ['say', '***', 'http://h/***']
  ],
  [
    ['--dsn', 'Server=db;User Id=sa;Password=SENT', 'host=db password = SENT', '--db=host=db;Pwd=SENT'],
    ['--dsn', 'Server=db;User Id=sa;Password=***', 'host=db password = ***', '--db=host=db;Pwd=***']
  ],
  [
    ['sh', '-c', 'serve --level 1 --api-key SENT', 'serve --port=80 --db-password="SENT"'],
    ['sh', '-c', 'serve --level 1 --api-key ***', 'serve --port=80 --db-password="***']
  ],
  [
    ['--token', ''],
    ['--token', '']
  ]
] as const

test('SR-M1 arguments are masked where flag, name or form say that they are secret, and masking again changes nothing', () => {
  for (const [args, shown] of argumentLists) {
    assert.deepEqual(maskArguments(args), shown)
    assert.deepEqual(maskArguments(shown), shown)
    args.forEach((_arg, index) => assert.equal(isMaskedArgument(args, index), false))
    shown.forEach((arg, index) => assert.equal(isMaskedArgument(shown, index), arg !== args[index], arg))
  }
  const found = secretsOfArguments([
    'postgres://u:SENT-1@h/db',
    '-H',
    'Authorization: Bearer SENT-2',
    '--url=http://h/?k=SENT-3'
  ])
  for (const secret of ['SENT-1', 'SENT-2', 'SENT-3']) assert.ok(found.includes(secret), secret)
})

test('SR-M1 masks take time in proportion to the text', () => {
  for (const unit of [
    '?',
    'a=',
    '/',
    'a:',
    '@',
    '%',
    '&a',
    'Bearer ',
    '{token',
    'password ',
    ' --a-token',
    ';token',
    ';a.b-'
  ]) {
    const text = unit.repeat(100_000 / unit.length)
    assert.equal(typeof maskUrl(`http://h/${text}`), 'string')
    assert.equal(maskArguments([text, `--x=${text}`, `x://${text}`]).length, 3)
    assert.ok(Array.isArray(secretsOfArguments([`x://${text}`, text])))
  }
})
