import { spawnSync } from 'node:child_process'
import type { TestContext } from 'node:test'
import { until } from '../until.ts'
import { run } from './harness.ts'
import { needs } from '../needs.ts'

const works = (command: string, ...args: string[]) => spawnSync(command, args, { stdio: 'ignore' }).status === 0

/** What gives a program a terminal of its own: util-linux or Python. */
function findTerminal(): readonly string[] | undefined {
  if (process.platform === 'linux' && works('script', '-qec', 'true', '/dev/null'))
    return ['script', '-qec', 'bash --norc --noprofile -i', '/dev/null']
  const python = 'import pty; pty.spawn(["bash", "--norc", "--noprofile", "-i"])'
  return works('python3', '-c', 'import pty') ? ['python3', '-c', python] : undefined
}

const command = findTerminal()

/** For `{ skip }`: why there is no terminal. */
export const noTerminal = needs('terminal: script of util-linux, or python3', command !== undefined)

export interface Terminal {
  close(): Promise<void>
  /** Types this, as it is. */
  type(text: string): void
  /** Waits until what was shown since the last command has this in it. */
  shows(pattern: RegExp): Promise<void>
  /** Types a command line, answers what is asked, and waits until it has ended: what was shown, and the exit code. */
  run(line: string, ...answers: readonly (readonly [question: RegExp, answer: string])[]): Promise<Ended>
}

export interface Ended {
  readonly shown: string
  readonly code: number
}

/** Of a shell that has said how the last command ended, and waits for the next. */
const prompt = /(?:^|\n)\r?\[(\d+)\]> $/

/** An interactive bash in a terminal. */
export async function openTerminal(t: TestContext, env: NodeJS.ProcessEnv): Promise<Terminal> {
  const [program, ...args] = command!
  const running = run(t, program!, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...env, TERM: 'xterm', LANG: 'C.UTF-8', PS1: '[$?]> ', PS2: '', HISTFILE: '' }
  })
  let from = 0
  const shown = () => running.output().slice(from)
  const type = (text: string) => void running.child.stdin!.write(text)
  const shows = async (pattern: RegExp) => {
    try {
      await until('the terminal', () => pattern.test(shown()))
    } catch (cause) {
      throw new Error(`the terminal does not show ${pattern.source} but ${JSON.stringify(shown())}`, { cause })
    }
  }
  await shows(prompt)
  return {
    type,
    shows,
    async close() {
      type('exit\n')
      await running.exited
    },
    async run(line, ...answers) {
      from = running.output().length
      type(`${line}\n`)
      for (const [question, answer] of answers) {
        await shows(question)
        type(answer)
      }
      await shows(prompt)
      const [, code] = prompt.exec(shown())!
      // without the echo of the line, and without the prompt
      return {
        shown: shown()
          .slice(shown().indexOf('\n') + 1)
          .replace(prompt, ''),
        code: Number(code)
      }
    }
  }
}
