// Prints the Homebrew formula: `node scripts/release/formula.mjs <version> <sha256 of the package>`.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { homepage } from './homepage.mjs'

const [version = '', sha256 = ''] = process.argv.slice(2)
if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)) throw new Error(`not a version: ${version}`)
if (!/^[0-9a-f]{64}$/.test(sha256)) throw new Error(`not a SHA-256 in hexadecimal digits: ${sha256}`)

const template = readFileSync(join(import.meta.dirname, '../../deploy/homebrew/towpath.rb.template'), 'utf8')
process.stdout.write(template.replace(/\{\{(\w+)\}\}/g, (_, name) => ({ homepage, version, sha256 })[name]))
