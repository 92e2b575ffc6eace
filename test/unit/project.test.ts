import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { test } from 'node:test'

const root = new URL('../../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), 'utf8')
const pages = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md']

interface LockEntry {
  readonly engines?: { readonly node?: string }
  readonly optionalDependencies?: Record<string, string>
  readonly resolved?: string
  readonly integrity?: string
}

/** Resolves a package like Node: the package's own `node_modules` first, then those of the folders above. */
function isLocked(packages: Record<string, LockEntry>, path: string, dependency: string): boolean {
  const own = `${path}/node_modules/${dependency}`.replace(/^\//, '')
  if (own in packages) return true
  const above = path.lastIndexOf('/node_modules/')
  if (above >= 0) return isLocked(packages, path.slice(0, above), dependency)
  return path !== '' && isLocked(packages, '', dependency)
}

// npm 10 silently installs a lock file that lacks some platforms' binaries; npm 11 and 12 refuse it
test('the lock file holds the binaries of every platform', () => {
  const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, LockEntry> }
  const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter((dependency) => !isLocked(packages, path, dependency))
      .map((dependency) => `${path} -> ${dependency}`)
  )
  assert.deepEqual(missing, [])
})

for (const folder of ['', 'test/tools/', 'test/conformance/node-24/', 'test/openapi-clients/']) {
  test(`every package locked in ${folder}package-lock.json comes from the public registry and has a checksum`, () => {
    const { packages } = JSON.parse(read(`${folder}package-lock.json`)) as { packages: Record<string, LockEntry> }
    for (const [path, { resolved, integrity }] of Object.entries(packages)) {
      if (path === '' || resolved === undefined) continue
      assert.match(resolved, /^https:\/\/registry\.npmjs\.org\//, path)
      assert.match(integrity ?? '', /^sha512-/, path)
    }
  })
}

interface Semver {
  minVersion(range: string): { readonly version: string } | null
  satisfies(version: string, range: string): boolean
}

// npm prints EBADENGINE for each other one
test('every locked package runs on the oldest Node that package.json names, and on Node 22 and 24', () => {
  const semver = createRequire(import.meta.url)('semver') as Semver
  const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, LockEntry> }
  const oldest = semver.minVersion(JSON.parse(read('package.json')).engines.node)!.version
  assert.equal(oldest, '20.19.0')
  for (const version of [oldest, '22.13.0', '24.0.0']) {
    for (const [path, { engines }] of Object.entries(packages)) {
      assert.ok(semver.satisfies(version, engines?.node ?? '*'), `${path} on ${version}: ${engines?.node}`)
    }
  }
})

test('SR-L13 every dependency, image and action is pinned, and a release has a bill of materials and its provenance', () => {
  const { dependencies, devDependencies } = JSON.parse(read('package.json')) as Record<string, Record<string, string>>
  for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) {
    assert.match(version, /^\d+\.\d+\.\d+(-[\w.]+)?$/, name)
  }
  const workflows = ['ci.yml', 'release.yml'].map((name) => read(`.github/workflows/${name}`)).join('\n')
  const actions = [...workflows.matchAll(/^\s*-?\s*uses: (\S+)/gm)].map(([, action = '']) => action)
  assert.ok(actions.length > 5)
  for (const action of actions) assert.match(action, /^\.\/|@[0-9a-f]{40}$/)
  for (const step of ['attest-build-provenance', 'attest-sbom']) assert.ok(workflows.includes(step), step)
  const versions = [...read('Dockerfile').matchAll(/^ARG (\w+_(?:VERSION|RELEASE))=(\S*)/gm)]
  assert.ok(versions.length > 0)
  for (const [, name = '', version = ''] of versions) assert.match(version, /^(?:\d+\.\d+\.\d+|[a-z]+)$/, name)
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  assert.match(scripts.advisories!, /^npm audit /)
})

test('the licence is the one that package.json names, and names who holds the copyright', () => {
  assert.equal(JSON.parse(read('package.json')).license, 'Apache-2.0')
  assert.match(read('LICENSE'), /Apache License\s+Version 2\.0, January 2004/)
  assert.match(read('LICENSE'), /^ {3}Copyright Towpath contributors$/m)
})

for (const page of pages) {
  test(`${page} links only to files that exist and names only scripts that exist`, () => {
    const text = read(page)
    for (const [, target = ''] of text.matchAll(/\]\(([^)#:]+)\)/g)) {
      assert.ok(existsSync(new URL(target, root)), target)
    }
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    for (const [, script = ''] of text.matchAll(/npm run ([\w:-]+)/g)) assert.ok(script in scripts, script)
  })
}

test("the checks of a change can be executed and end with the README's test command", () => {
  for (const script of ['.ci/run', '.ci/nightly']) assert.ok(statSync(new URL(script, root)).mode & 0o100)
  const last = read('.ci/run').trimEnd().split('\n').at(-1)
  assert.equal(last, 'step npm test')
  assert.match(read('README.md'), /`npm test`/)
})
