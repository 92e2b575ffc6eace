import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shapeProblem } from '../../src/catalog/items/item-shape.ts'
import { skillUris, withSkillUris } from '../../src/catalog/items/skill-entry.ts'
import { namedAddressOf } from '../../src/catalog/resource-uris.ts'

const digest = `sha256:${'0a'.repeat(32)}`
const file = (uri: string) => ({ uri, digest, size: 5 })
const at = 'skill://team/refunds/SKILL.md'
const entry = (more: object = {}, frontmatter: object = {}) => ({
  uri: at,
  frontmatter: { name: 'refunds', description: 'd', ...frontmatter },
  resources: [file(at), file('skill://team/refunds/references/GUIDE.md')],
  ...more
})
const problemOf = (value: object) => shapeProblem('skill', JSON.stringify(value))?.reason
const withFiles = (...uris: string[]) => entry({ resources: [file(at), ...uris.map(file)] })

test('an entry of a skill is accepted with every member that the extension defines, and with others', () => {
  const accepted = [
    entry(),
    entry({ resources: 'dynamic' }),
    entry({ _meta: { any: 1 }, other: 5 }),
    entry(
      {},
      { license: 'MIT', compatibility: 'any', metadata: { version: '1.10' }, 'allowed-tools': 'Bash', more: [1] }
    ),
    entry({ uri: 'github://owner/repo/refunds/SKILL.md', resources: [file('github://owner/repo/refunds/SKILL.md')] }),
    entry({ uri: 'skill://refunds/SKILL.md', resources: [file('skill://refunds/SKILL.md')] }),
    withFiles('skill://team/refunds/nested/x/SKILL.md', 'skill://team/refunds/Q%26A.md', 'skill://team/refunds/Ä.md')
  ]
  for (const each of accepted) assert.equal(problemOf(each), undefined, JSON.stringify(each))
})

test('an entry that breaks a rule of the extension or of Agent Skills is left out with a reason', () => {
  const rejected: readonly (readonly [object, RegExp])[] = [
    [entry({ frontmatter: undefined }), /it has no "frontmatter"/],
    [entry({}, { name: 5 }), /"frontmatter.name" is not valid/],
    [entry({ resources: undefined }), /it has no "resources"/],
    [entry({ resources: 'static' }), /"resources" is not valid/],
    [entry({ resources: [{ uri: at, digest: digest.toUpperCase(), size: 5 }] }), /"resources/],
    [entry({ resources: [{ uri: at, digest, size: -1 }] }), /"resources/],
    [entry({ resources: [{ uri: at, digest, size: 1.5 }] }), /"resources/],
    [entry({ uri: 'skill://team/refunds/skill.md' }), /does not end with/],
    [entry({ uri: 'skill://SKILL.md' }), /does not end with/],
    [entry({ uri: 'skill:team/refunds/SKILL.md' }), /does not begin with "skill:\/\/"/],
    [entry({ uri: 'skill://team/../refunds/SKILL.md' }), /segment "." or ".."/],
    [entry({ uri: 'skill://team/%2E%2e/refunds/SKILL.md' }), /segment "." or ".."/],
    [entry({ uri: 'skill://team/refunds/SKILL.md?x' }), /a query or a fragment/],
    [entry({ uri: 'skill://te am/refunds/SKILL.md' }), /white space/],
    [entry({ uri: 'skill://te\u202eam/refunds/SKILL.md' }), /hidden characters/],
    [entry({ uri: 'skill://team/%zz/refunds/SKILL.md' }), /is not valid/],
    [entry({}, { name: 'Refunds' }), /its name/],
    [entry({}, { name: 'other' }), /not called like the skill/],
    [entry({}, { name: 'a'.repeat(65) }), /its name/],
    [entry({}, { description: '' }), /description/],
    [entry({}, { description: 'd'.repeat(1_025) }), /description/],
    [entry({}, { compatibility: '' }), /compatibility/],
    [entry({}, { metadata: { version: 1.1 } }), /metadata/],
    [
      JSON.parse(JSON.stringify(entry()).replace('"description"', '"__proto__":{},"description"')) as object,
      /__proto__/
    ],
    [withFiles('skill://team/other/x.md'), /not within/],
    [withFiles('skill://team/refunds'), /not within/],
    [withFiles('skill://team/refunds/a%2fb.md'), /not within/],
    [withFiles('skill://team/refunds//b.md'), /not within/],
    [withFiles('skill://team/refunds/../x.md'), /segment "." or ".."/],
    [withFiles('skill://team/refunds/a\\b.md'), /backslash/],
    [withFiles(at), /listed twice/],
    [withFiles('skill://team/refunds/Q&A.md', 'skill://team/refunds/Q%26A.md'), /listed twice/],
    [entry({ resources: [file('skill://team/refunds/x.md')] }), /do not include its SKILL.md/],
    [entry({ resources: [] }), /do not include its SKILL.md/]
  ]
  for (const [each, reason] of rejected) assert.match(problemOf(each) ?? 'accepted', reason, JSON.stringify(each))
})

test('only the addresses of an entry change: its frontmatter keeps every byte', () => {
  const text =
    `{ "frontmatter":{"name":"refunds","description":"uri","n":1.10,"uri":"${at}"},"uri":"${at}",` +
    `"resources":[{"size":5,"uri":"${at}","digest":"${digest}"},5],"_meta":{"uri":"${at}"}}`
  const named = withSkillUris(text, (uri) => namedAddressOf('docs', uri))
  const address = 'skill://docs/team/refunds/SKILL.md'
  assert.equal(
    named,
    `{"frontmatter":{"name":"refunds","description":"uri","n":1.10,"uri":"${at}"},"uri":"${address}",` +
      `"resources":[{"size":5,"uri":"${address}","digest":"${digest}"},5],"_meta":{"uri":"${at}"}}`
  )
  assert.deepEqual(skillUris(JSON.stringify(entry())), [at, at, 'skill://team/refunds/references/GUIDE.md'])
})
