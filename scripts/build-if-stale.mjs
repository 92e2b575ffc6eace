// First part of `npm start`: builds if a build is missing or older than its sources. Plain JavaScript, because nothing
// is built yet.
import { spawnSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const programs = ['dist/src/cli/main.js', 'dist/dashboard/index.html']
const sources = ['src', 'migrations', 'dashboard', 'scripts', 'package-lock.json', 'tsconfig.json', 'vite.config.ts']

const statOf = (path) => statSync(path, { throwIfNoEntry: false })

/** Returns the newest ctime below a path; unpacking an archive restores old values of the other times. */
function changedAt(path) {
  const stat = statOf(path)
  if (!stat?.isDirectory()) return stat?.ctimeMs ?? 0
  return Math.max(stat.ctimeMs, ...readdirSync(path).map((name) => changedAt(join(path, name))))
}

const builtAt = Math.min(...programs.map((path) => statOf(join(root, path))?.mtimeMs ?? 0))
if (Math.max(...sources.map((path) => changedAt(join(root, path)))) > builtAt) {
  console.log('Building what has changed; this takes some seconds')
  const { status } = spawnSync('npm run build --silent', { cwd: root, shell: true, stdio: 'inherit' })
  process.exitCode = status ?? 1
}
