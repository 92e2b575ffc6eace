import assert from 'node:assert/strict'
import fc from 'fast-check'
import { createRedactor, secretsIn } from '../../src/domain/secrets/redaction.ts'
import { holds } from './property.ts'

const base64 = (text: string) => Buffer.from(text).toString('base64')

/** Encodings of a secret in an upstream's response. */
const encodings: readonly ((secret: string) => string)[] = [
  (secret) => secret,
  (secret) => JSON.stringify(secret),
  (secret) => JSON.stringify(JSON.stringify({ secret })),
  (secret) => encodeURIComponent(secret),
  (secret) => encodeURIComponent(secret).replace(/%../g, (code) => code.toLowerCase()),
  (secret) => new URLSearchParams({ secret }).toString(),
  (secret) => base64(secret),
  (secret) => Buffer.from(secret).toString('base64url'),
  (secret) => `Basic ${base64(`user:${secret}`)}`,
  (secret) => base64(`x${secret}and more`),
  (secret) => base64(`xy${secret}`)
]

/** Long enough to avoid chance matches, with every character that the encodings treat specially. */
const unit = fc.oneof(
  fc.constantFrom('"', '\\', '/', '+', ' ', '&', '%', '=', 'é', '😀'),
  fc.constantFrom(...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'.split(''))
)
const secret = fc.string({ unit, minLength: 12, maxLength: 40 }).filter((text) => /\w{4}/.test(text))
const words = fc.string({ unit: fc.constantFrom('q', ' ', '{', '"', ':'), maxLength: 20 })

/** Returns the text after undoing every possible encoding. */
function decoded(text: string): string[] {
  const runs = text.match(/[\w+/-]{8,}/g) ?? []
  const shifted = runs.flatMap((run) => [0, 1, 2, 3].map((by) => Buffer.from(run.slice(by), 'base64').toString()))
  const plain = text.replace(/\+/g, ' ').replace(/(%[\da-f]{2})+/gi, (code) => {
    try {
      return decodeURIComponent(code)
    } catch {
      return code
    }
  })
  const unquoted = [text, plain].flatMap((each) => [
    each.replace(/\\(.)/g, '$1'),
    each.replace(/\\(.)/g, '$1').replace(/\\(.)/g, '$1')
  ])
  return [text, plain, ...unquoted, ...shifted]
}

holds(
  'no secret is left in what is shown, however it is encoded',
  [
    fc.array(secret, { minLength: 1, maxLength: 4 }),
    fc.array(fc.tuple(words, fc.nat(), fc.nat(encodings.length - 1)), { minLength: 1, maxLength: 4 })
  ],
  (secrets, places) => {
    const text = places
      .map(([before, which, how]) => before + encodings[how]!(secrets[which % secrets.length]!))
      .join(' ')
    const shown = createRedactor(secrets)(text)
    for (const each of secrets) {
      for (const form of decoded(shown)) assert.ok(!form.includes(each), `${JSON.stringify(each)} in ${shown}`)
    }
  }
)

holds('what holds no secret stays as it is', [fc.array(secret, { maxLength: 4 }), words], (secrets, text) => {
  assert.equal(createRedactor(secrets)(text), text)
})

holds('every value of a configuration is taken out', [secret, secret, secret, secret, secret], (...values) => {
  const [token, header, env, client, query] = values
  const config = {
    bearer_token: token,
    headers: { A: `Bearer ${header}` },
    env: { B: env },
    oauth_client_secret: client
  }
  const url = `http://host/?q=${encodeURIComponent(query)}`
  const redact = createRedactor(secretsIn(config, { url }))
  const shown = redact(`${values.join(' ')} ${url}`)
  for (const each of values) assert.ok(!shown.includes(each), shown)
  assert.ok(!shown.includes(encodeURIComponent(query)))
})
