import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { defineConfig, type Plugin } from 'vite'
import { statedLicence } from './scripts/stated-licence.ts'

/**
 * Packages that stay in `node_modules`, because they read files of their own or may be missing. The published package
 * depends on these only (scripts/published-manifest.mjs).
 */
const external = JSON.parse(readFileSync(new URL('scripts/external.json', import.meta.url), 'utf8')) as string[]

const LICENCES = 'licences.md'

/** Vite writes down the licence texts that packages carry; the others follow from what the packages state. */
const statedLicences = (): Plugin => ({
  name: 'stated-licences',
  writeBundle() {
    const file = new URL(`dist/src/${LICENCES}`, import.meta.url)
    const withoutText = /^## (\S+) - .*\n(?=\n## |(?![^]))/gm
    const text = readFileSync(file, 'utf8').replace(withoutText, (heading, name: string) => {
      return `${heading}\n${statedLicence(new URL(`node_modules/${name}/`, import.meta.url))}\n`
    })
    writeFileSync(file, text)
  }
})

/** Copies what the page of the API reference loads: description.ts serves it from there. */
const swaggerUiFiles = (): Plugin => ({
  name: 'swagger-ui-files',
  writeBundle() {
    for (const name of ['index.css', 'swagger-ui.css', 'swagger-ui-bundle.js', 'swagger-ui-standalone-preset.js']) {
      const from = new URL(`node_modules/@fastify/swagger-ui/static/${name}`, import.meta.url)
      cpSync(from, new URL(`dist/src/swagger-ui/${name}`, import.meta.url))
    }
  }
})

/**
 * Writes characters beyond ASCII as escape sequences: V8 keeps a source with one such character at two bytes for each
 * character, which are 5 MiB, and compiles it slower.
 */
const asciiOutput = (): Plugin => ({
  name: 'ascii-output',
  generateBundle(_, files) {
    for (const file of Object.values(files)) {
      if (file.type !== 'chunk') continue
      // where an escape sequence would mean something else: in a raw template, and after a backslash
      if (/String\.raw`[^`]*[^\0-\x7f]|(?<!\\)(?:\\\\)*\\[^\0-\x7f]/.test(file.code))
        this.error(`${file.fileName}: String.raw of more than ASCII, or an escaped character beyond it`)
      file.code = file.code.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    }
  }
})

/** A package that another one loads at once and uses later, or never. */
interface LateLoad {
  readonly file: string
  /** Statement that loads it */
  readonly declared: string
  /** The one place that uses it, and the same with a `require` of its own */
  readonly used: string
  readonly instead: string
}

const ajv = '@fastify/ajv-compiler'
/** Together these take 2 to 5 % of a start. */
const lateLoads: readonly LateLoad[] = [
  {
    file: `${ajv}/lib/validator-compiler.js`,
    declared: "const Ajv = require('ajv').default",
    used: 'new Ajv(',
    instead: "new (require('ajv').default)("
  },
  {
    file: `${ajv}/lib/validator-compiler.js`,
    declared: "const AjvJTD = require('ajv/dist/jtd')",
    used: 'new AjvJTD(',
    instead: "new (require('ajv/dist/jtd'))("
  },
  {
    file: `${ajv}/standalone.js`,
    declared: "const standaloneCode = require('ajv/dist/standalone').default",
    used: '= standaloneCode(',
    instead: "= require('ajv/dist/standalone').default("
  },
  {
    file: '@fastify/fast-json-stringify-compiler/standalone.js',
    declared: "const fastJsonStringify = require('fast-json-stringify')",
    used: 'return fastJsonStringify(',
    instead: "return require('fast-json-stringify')("
  },
  {
    file: '@fastify/static/index.js',
    declared: "const { glob } = require('glob')",
    used: 'await glob(',
    instead: "await require('glob').glob("
  },
  {
    file: 'type-is/index.js',
    declared: "var mime = require('mime-types')",
    used: '? mime.lookup(',
    instead: "? require('mime-types').lookup("
  }
]

/** Moves these loads to where they are used. Fails if a package was changed, so that the list is kept up to date. */
const loadLate = (): Plugin => {
  const done = new Set<LateLoad>()
  return {
    name: 'load-late',
    transform(code, id) {
      const here = lateLoads.filter(({ file }) => id.replaceAll('\\', '/').endsWith(`/node_modules/${file}`))
      let changed = code
      for (const load of here) {
        const { file, declared, used, instead } = load
        for (const part of [declared, used])
          if (code.split(part).length !== 2) this.error(`${file} does not have \`${part}\` once`)
        changed = changed.replace(declared, '').replace(used, instead)
        done.add(load)
      }
      return here.length === 0 ? null : { code: changed, map: null }
    },
    buildEnd() {
      const left = lateLoads.filter((load) => !done.has(load)).map(({ file }) => file)
      if (left.length > 0) this.error(`no longer bundled: ${left.join(', ')}`)
    }
  }
}

/**
 * The server and the command line with the packages that they use, in a few files: to find and read a thousand takes
 * half of a start. `import()` stays what loads a part later. Names and lines are kept, for whoever reads a stack.
 */
export default defineConfig({
  publicDir: false,
  plugins: [loadLate(), asciiOutput(), statedLicences(), swaggerUiFiles()],
  ssr: { target: 'node', noExternal: true, external },
  build: {
    ssr: true,
    target: 'node20',
    outDir: 'dist/src',
    emptyOutDir: true,
    reportCompressedSize: false,
    // what is bundled ships with its licences
    license: { fileName: LICENCES },
    rolldownOptions: {
      input: {
        'cli/main': 'src/cli/main.ts',
        'cli/worker': 'src/cli/worker.ts',
        'demo/server': 'src/demo/server.ts',
        'stdio/launcher-program': 'src/upstream/stdio/launcher-program.mjs',
        'description-thread': 'src/plugins/openapi/description-thread.mjs',
        'store-program': 'src/registry/store/store-program.mjs'
      },
      output: {
        // beside the folders of the two programs: app.ts and demo/registration.ts find their files from there
        chunkFileNames: '[name].js',
        entryFileNames: '[name].js',
        // they would stay in memory with the code: 7 MB
        comments: false
      }
    }
  }
})
