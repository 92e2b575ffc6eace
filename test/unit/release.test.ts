import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { VERSION } from '../../src/domain/version.ts'
import { parseDockerfile } from '../dockerfile.ts'

const root = new URL('../../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), 'utf8')
const { repository, homepage, bugs } = JSON.parse(read('package.json')) as {
  repository: { type: string; url: string }
  homepage: string
  bugs: string
}
/** Owner and name of the repository. */
const [, project = ''] = /^git\+https:\/\/github\.com\/([\w-]+\/[\w-]+)\.git$/.exec(repository.url) ?? []

const run = (script: string, ...args: string[]) =>
  spawnSync(process.execPath, [fileURLToPath(new URL(script, root)), ...args], { encoding: 'utf8' })

test('package.json names one repository, from which the registry resolves the relative links of the README', () => {
  assert.equal(repository.type, 'git')
  assert.notEqual(project, '')
  assert.equal(homepage, `https://github.com/${project}#readme`)
  assert.equal(bugs, `https://github.com/${project}/issues`)
  const targets = [...read('README.md').matchAll(/\]\(([^)]+)\)|(?:src|href)="([^"]+)"/g)].map(([, a, b]) => a ?? b!)
  assert.ok(targets.length > 50)
  for (const target of targets) assert.match(target, /^(https?:\/\/|#|(?![/.])[\w./-]+(#[\w-]+)?$)/, target)
})

test('the chart uses the image that a release of this repository publishes', () => {
  const { image } = parse(read('deploy/helm/towpath/values.yaml')) as { image: { repository: string } }
  assert.equal(image.repository, `ghcr.io/${project}`)
})

test('the formula has the version, the checksum and the address of the package, and refuses others', () => {
  const sha256 = 'a'.repeat(64)
  const { stdout } = run('scripts/release/formula.mjs', VERSION, sha256)
  assert.ok(stdout.includes(`url "https://registry.npmjs.org/towpath/-/towpath-${VERSION}.tgz"\n  sha256 "${sha256}"`))
  assert.ok(stdout.includes(`homepage "https://github.com/${project}"`))
  assert.doesNotMatch(stdout, /\{\{|undefined/)
  for (const args of [
    ['1', sha256],
    [VERSION, 'a'],
    ['1.0.0"; system("x")', sha256]
  ])
    assert.notEqual(run('scripts/release/formula.mjs', ...args).status, 0, args.join(' '))
})

test('the notes of a release are its section of the changelog, with absolute links', () => {
  const { stdout, status } = run('scripts/release/notes.mjs', VERSION)
  assert.equal(status, 0)
  assert.match(stdout, /^First version\./)
  assert.doesNotMatch(stdout, /^## /m)
  for (const [, target = ''] of stdout.matchAll(/\]\(([^)]+)\)/g))
    assert.ok(target.startsWith(`https://github.com/${project}/blob/v${VERSION}/`), target)
  assert.notEqual(run('scripts/release/notes.mjs', '99.0.0').status, 0)
})

interface Workflow {
  readonly permissions?: Record<string, string>
  readonly jobs: Record<string, { readonly strategy?: { readonly matrix: { readonly include: { target: string }[] } } }>
}

for (const name of readdirSync(new URL('.github/workflows', root))) {
  test(`${name} uses actions by commit, and grants what it needs to each job`, () => {
    const text = read(`.github/workflows/${name}`)
    const uses = [...text.matchAll(/uses: (.*)$/gm)].map(([, used]) => used!)
    for (const used of uses) assert.match(used, /^(\.\/\S+|[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+)$/)
    assert.deepEqual((parse(text) as Workflow).permissions, { contents: 'read' })
  })
}

test('a release builds every image of the Dockerfile', () => {
  const { images } = (parse(read('.github/workflows/release.yml')) as Workflow).jobs
  const targets = images!.strategy!.matrix.include.map(({ target }) => target)
  const names = new Set(parseDockerfile(read('Dockerfile')).map(({ name }) => name))
  assert.deepEqual(targets, ['latest', 'stdio'])
  for (const target of targets) assert.ok(names.has(target), target)
})
