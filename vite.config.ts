import { readFileSync, writeFileSync } from 'node:fs'
import { defineConfig, type Plugin } from 'vite'
import { statedLicence } from './scripts/stated-licence.ts'

/**
 * Loaded from `node_modules` when they are needed: they read files of their own, exist once in a process, or may be
 * missing.
 */
const external = [
  '@electric-sql/pglite',
  '@fastify/swagger-ui',
  '@opentelemetry/api',
  '@opentelemetry/sdk-node',
  'pg-native'
]

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

/**
 * The server and the command line with the packages that they use, in a few files: to find and read a thousand takes
 * half of a start. `import()` stays what loads a part later. Names and lines are kept, for whoever reads a stack.
 */
export default defineConfig({
  publicDir: false,
  plugins: [statedLicences()],
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
      input: { 'cli/main': 'src/cli/main.ts', 'demo/server': 'src/demo/server.ts' },
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
