import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { programWords } from '../../src/cli/connect/program-words.ts'

function folderOf(t: TestContext) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'towpath-words-')))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return (path: string, content = '') => {
    const file = join(folder, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, content)
    chmodSync(file, 0o755)
    return file
  }
}
const words = (program: string, ...folders: string[]) =>
  programWords({ env: { PATH: folders.join(delimiter) }, program, platform: 'linux' })

test('an installed program is started by its command, if the PATH leads to it and not to another', (t) => {
  const file = folderOf(t)
  const program = file('lib/node_modules/towpath/dist/src/cli/main.js')
  const bin = file('bin/towpath').replace(/towpath$/, '')
  rmSync(join(bin, 'towpath'))
  symlinkSync(program, join(bin, 'towpath'))
  assert.deepEqual(words(join(bin, 'towpath'), '/nowhere', bin), ['towpath'])
  assert.deepEqual(words(join(bin, 'towpath')), [process.execPath, program])
  const clone = file('clone/dist/src/cli/main.js')
  assert.deepEqual(words(clone, bin), [process.execPath, clone])
})

test('a command that only scripts of npm find is not used', (t) => {
  const file = folderOf(t)
  const program = file('node_modules/towpath/dist/src/cli/main.js')
  const bin = dirname(file('node_modules/.bin/other'))
  symlinkSync(program, join(bin, 'towpath'))
  assert.deepEqual(words(join(bin, 'towpath'), bin), [process.execPath, program])
})

test('npx is used for a package that npx fetched from a registry, and not for one from a file', (t) => {
  const file = folderOf(t)
  const program = file('.npm/_npx/a1b2/node_modules/towpath/dist/src/cli/main.js')
  const manifest = (version: string) =>
    file('.npm/_npx/a1b2/package.json', JSON.stringify({ dependencies: { towpath: version } }))
  manifest('^0.1.0')
  assert.deepEqual(words(program), ['npx', '-y', 'towpath'])
  for (const other of ['file:../../../towpath-0.1.0.tgz', 'https://example.com/towpath.tgz', '']) {
    manifest(other)
    assert.deepEqual(words(program), [process.execPath, program], other)
  }
  file('.npm/_npx/a1b2/package.json', 'not JSON')
  assert.deepEqual(words(program), [process.execPath, program])
})

test('sources keep the loader that runs them', (t) => {
  const program = folderOf(t)('src/cli/main.ts')
  assert.deepEqual(words(program), [process.execPath, ...process.execArgv, program])
})
