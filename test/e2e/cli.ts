import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { TestContext } from 'node:test'
import { execute } from '../../src/cli/execute.ts'
import { tempDir } from '../store.ts'

/** The result of a command line. */
export interface CommandResult {
  readonly code: number
  readonly out: string
  readonly err: string
  /** stdout, parsed */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests assert on the shape
  readonly json: any
}

export interface CliOptions {
  readonly env?: NodeJS.ProcessEnv
  /** Content of stdin. */
  readonly input?: string
  /** See CliIo. */
  readonly stdoutClosed?: AbortSignal
  /** Receives output on stdout or stderr as it is written. */
  readonly onOut?: (text: string) => void
  readonly onErr?: (text: string) => void
}

export interface CommandLine {
  /** Home directory. */
  readonly home: string
  (args: readonly string[], options?: CliOptions): Promise<CommandResult>
}

/** Runs the command line in this process against any gateway; `env` applies to every run. */
export async function commandLine(t: TestContext, env: NodeJS.ProcessEnv = {}): Promise<CommandLine> {
  const home = await tempDir(t)
  const program = join(await tempDir(t), 'towpath.js')
  await writeFile(program, '')
  const once = async (args: readonly string[], options: CliOptions = {}): Promise<CommandResult> => {
    let out = ''
    let err = ''
    const code = await execute(args, {
      env: { ...env, ...options.env },
      home,
      platform: process.platform,
      cwd: home,
      program,
      stdin: Readable.from([options.input ?? '']),
      stdout: {
        write(data) {
          const text = Buffer.from(data).toString()
          out += text
          options.onOut?.(text)
        }
      },
      stderr: {
        write(data) {
          const text = Buffer.from(data).toString()
          err += text
          options.onErr?.(text)
        }
      },
      ...(options.stdoutClosed && { stdoutClosed: options.stdoutClosed })
    })
    return {
      code,
      out,
      err,
      get json(): unknown {
        return JSON.parse(out)
      }
    }
  }
  return Object.assign(once, { home })
}
