// Runs the tests most likely to differ between Node versions (streams, JSON, HTTP) on the image's version too.
import { spawnSync } from 'node:child_process'
import { findNode } from './conformance/suite.ts'

const tests = [
  'test/unit',
  'test/property',
  ...['modern', 'legacy', 'sse', 'resume', 'wire', 'rounds'].map((name) => `test/integration/mcp-${name}.test.ts`)
]

const node = findNode()
const { stdout } = spawnSync(node, ['--version'], { encoding: 'utf8' })
console.log(`Node.js ${stdout.trim()}`)
const { status } = spawnSync(node, ['--import', 'tsx', 'test/run.ts', ...tests], { stdio: 'inherit' })
process.exitCode = status ?? 1
