import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const script = fileURLToPath(new URL('../../scripts/build-if-stale.mjs', import.meta.url))

const build = `
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
if (existsSync('src/wrong.ts')) process.exit(3)
for (const folder of ['dist/src/cli', 'dist/dashboard']) mkdirSync(folder, { recursive: true })
for (const file of ['dist/src/cli/main.js', 'dist/dashboard/index.html']) writeFileSync(file, '')
console.log('built')`

test('npm start builds what is missing or older than its sources, whatever time an archive gave them', (t) => {
  const root = mkdtempSync(join(tmpdir(), 'towpath-build-'))
  t.after(() => rmSync(root, { recursive: true, force: true }))
  const put = (path: string, text: string) => writeFileSync(join(root, path), text)
  for (const folder of ['scripts', 'src']) mkdirSync(join(root, folder))
  cpSync(script, join(root, 'scripts/build-if-stale.mjs'))
  put('package.json', JSON.stringify({ scripts: { build: 'node build.mjs' } }))
  put('build.mjs', build)
  put('src/a.ts', '')
  const run = () => {
    const { status, stdout } = spawnSync(process.execPath, ['scripts/build-if-stale.mjs'], { cwd: root })
    return { status, built: stdout.toString().includes('built') }
  }

  assert.deepEqual(run(), { status: 0, built: true })
  assert.deepEqual(run(), { status: 0, built: false })

  put('src/a.ts', 'changed')
  utimesSync(join(root, 'src/a.ts'), 0, 0)
  assert.deepEqual(run(), { status: 0, built: true })
  assert.deepEqual(run(), { status: 0, built: false })

  rmSync(join(root, 'src/a.ts'))
  assert.deepEqual(run(), { status: 0, built: true })

  put('src/wrong.ts', '')
  assert.deepEqual(run(), { status: 3, built: false })
})
