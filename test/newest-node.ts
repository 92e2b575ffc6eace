// Runs tests on the Node version of the image too: those of what differs between versions (streams, HTTP, JSON, processes,
// cryptography), or with `--all` every test of functions.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { findNode } from './conformance/suite.ts'

/** Words in the names of test files whose subject Node itself does much of. */
const differs =
  /stream|line|wire|bytes|json|http|body|request|session|connection|socket|timing|deadline|clock|turn|slice|queue|password|token|crypt|secret|process|stdio|program|url|uri|text|address|egress|cache/

const isAll = process.argv.includes('--all')
const unit = readdirSync('test/unit').filter((name) => name.endsWith('.test.ts') && differs.test(name))
const tests = [
  ...(isAll ? ['test/unit', 'test/property'] : unit.map((name) => `test/unit/${name}`)),
  ...['modern', 'legacy', 'sse', 'resume', 'wire', 'rounds'].map((name) => `test/integration/mcp-${name}.test.ts`)
]

const node = findNode()
const { stdout } = spawnSync(node, ['--version'], { encoding: 'utf8' })
console.log(`Node.js ${stdout.trim()}`)
const { status } = spawnSync(node, ['--import', 'tsx', 'test/run.ts', ...tests], { stdio: 'inherit' })
process.exitCode = status ?? 1
