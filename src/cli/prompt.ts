import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { EXIT, Failure } from './failure.ts'
import type { World } from './world.ts'

/** Asks on the terminal; `isHidden` shows nothing of what is typed. */
async function ask({ stdin, stderr }: World, question: string, isHidden: boolean): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: stdin, output: nowhere, terminal: isHidden })
  lines.once('SIGINT', () => {
    stderr.write('\n')
    process.exit(EXIT.interrupted)
  })
  // once nothing is echoed any more
  stderr.write(question)
  try {
    const ended = new Promise<never>((_resolve, reject) => {
      lines.once('close', () => reject(new Failure(EXIT.interrupted, 'nothing was answered')))
    })
    return await Promise.race([lines.question(''), ended])
  } finally {
    lines.close()
    if (isHidden) stderr.write('\n')
  }
}

export const askSecret = (world: World, question: string) => ask(world, question, true)

/** Yes only by `y` or `yes`. */
export const confirm = async (world: World, question: string): Promise<boolean> =>
  /^y(es)?$/i.test((await ask(world, `${question} [y/N] `, false)).trim())
