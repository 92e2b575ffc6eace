import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { TestContext } from 'node:test'
import { registrationOf, sendResult, startUpstream, textResult, type Upstream } from '../e2e/upstream.ts'
import { tempDir } from '../store.ts'

/** Text that runs code if it is inserted as HTML, and characters that are invisible. */
export const hostile = {
  image: '<img src=x onerror="window.__x=1">',
  script: '<script>window.__x=1</script>',
  link: '[click](javascript:window.__x=1)',
  hidden: 'a\u200bb\u202ec\u{e0041}d'
} as const

const evil = Object.values(hostile).join(' ')

/** Starts an upstream with hostile names and texts everywhere. */
export function startHostile(t: TestContext): Promise<Upstream> {
  const answers: Readonly<Record<string, object>> = {
    initialize: {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {}, prompts: {}, resources: {} },
      serverInfo: { name: evil, title: evil, version: hostile.image },
      instructions: evil
    },
    'tools/list': {
      tools: [
        {
          name: 'look',
          title: evil,
          description: evil,
          inputSchema: {
            type: 'object',
            title: evil,
            properties: { [hostile.image]: { type: 'string', title: evil, description: evil, enum: [evil, 'b'] } }
          },
          annotations: { title: evil, destructiveHint: true }
        },
        { name: hostile.image, description: 'Its name is hostile', inputSchema: { type: 'object' } }
      ]
    },
    'prompts/list': {
      prompts: [{ name: 'ask', title: evil, description: evil, arguments: [{ name: 'topic', description: evil }] }]
    },
    'resources/list': {
      resources: [{ uri: `x://a/${encodeURIComponent(hostile.image)}`, name: evil, description: evil, mimeType: evil }]
    },
    'resources/templates/list': { resourceTemplates: [{ uriTemplate: 'x://{id}', name: evil, description: evil }] },
    'tools/call': { ...textResult(evil), isError: true }
  }
  return startUpstream(t, 'hostile', {
    onRequest(message, response) {
      const answer = answers[message.method]
      if (answer) sendResult(response, message, answer)
      return answer !== undefined
    }
  })
}

const good = fileURLToPath(new URL('../fixtures/stdio/good.mjs', import.meta.url))

/** Returns a command that works until it is broken; then it writes to stderr and exits. */
export async function makeBreakable(t: TestContext, complaint: string) {
  const folder = await tempDir(t)
  const script = join(folder, 'server.mjs')
  const flag = join(folder, 'broken')
  const lines = [
    `import { existsSync } from 'node:fs'`,
    `if (existsSync(${JSON.stringify(flag)})) {`,
    `  process.stderr.write(${JSON.stringify(`${complaint}\n`)})`,
    `  process.exit(3)`,
    `}`,
    `await import(${JSON.stringify(`file://${good}`)})`
  ]
  await writeFile(script, lines.join('\n'))
  return {
    registration: (name: string) => ({ name, transport: 'stdio', command: process.execPath, args: [script] }),
    break: () => writeFile(flag, '')
  }
}

export { registrationOf }
