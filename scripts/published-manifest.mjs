// `write` before the package is packed: package.json gets the members that users of the package need, and the
// dependencies that the build has not bundled. `restore` afterwards puts the original back.
import { copyFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const manifest = join(import.meta.dirname, '../package.json')
const original = join(import.meta.dirname, '../.package.json.original')

/** The packages that the build does not bundle. */
const external = JSON.parse(readFileSync(join(import.meta.dirname, 'external.json'), 'utf8'))

const unpublished = ['scripts', 'devDependencies', 'overrides', 'allowScripts']

/** Also ends what an interrupted run left behind. */
function restore() {
  if (existsSync(original)) renameSync(original, manifest)
}

function write() {
  restore()
  copyFileSync(manifest, original)
  const { dependencies, ...members } = JSON.parse(readFileSync(manifest, 'utf8'))
  for (const name of unpublished) delete members[name]
  const loaded = Object.entries(dependencies).filter(([name]) => external.includes(name))
  writeFileSync(manifest, `${JSON.stringify({ ...members, dependencies: Object.fromEntries(loaded) }, null, 2)}\n`)
}

const { npm_command, npm_config_dry_run } = process.env
if (process.argv[2] === 'write') write()
// `npm publish` reads package.json once more after it has packed: its postpublish restores, which a dry run leaves out
else if (process.argv[2] === 'restore' || npm_command !== 'publish' || npm_config_dry_run === 'true') restore()
