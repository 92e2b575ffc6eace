// Prints the section of a version in CHANGELOG.md: `node scripts/release/notes.mjs <version>`. Its links become
// absolute, because a page of releases is not in the folder of the file.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { homepage } from './homepage.mjs'

const [version = ''] = process.argv.slice(2)
const text = readFileSync(join(import.meta.dirname, '../../CHANGELOG.md'), 'utf8')
const section = text.split(/^(?=## )/m).find((part) => part.startsWith(`## ${version} `))
if (section === undefined) throw new Error(`CHANGELOG.md has no section for ${version}`)
const notes = section.replace(/^## .*\n+/, '')
process.stdout.write(notes.replace(/\]\((?![a-z]+:|#)/g, `](${homepage}/blob/v${version}/`))
