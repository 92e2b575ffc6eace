import type { OutputStream } from '../io/io.ts'

/** Writes JSON-RPC messages to the MCP client, one per line. */
export interface MessageOutput {
  /** Resolves when the stream takes more, which is how a slow reader slows down the gateway. */
  write(message: Buffer | string): Promise<void>
  /** Resolves when the stream has taken all messages. */
  flush(): Promise<void>
}

const LINE_FEED = 10
const CARRIAGE_RETURN = 13
const SPACE = 32

/** Replaces line breaks by spaces: JSON has them only between values. */
function onOneLine(message: Buffer): Buffer {
  if (!message.includes(LINE_FEED) && !message.includes(CARRIAGE_RETURN)) return message
  return message.map((byte) => (byte === LINE_FEED || byte === CARRIAGE_RETURN ? SPACE : byte)) as Buffer
}

/** Creates the output. `closed` aborts when nobody reads the stream any more. */
export function createMessageOutput(stream: OutputStream, closed?: AbortSignal): MessageOutput {
  let last = Promise.resolve()

  const put = async (message: Buffer | string) => {
    if (closed?.aborted) return
    stream.write(onOneLine(Buffer.from(message)))
    if (stream.write('\n') !== false || !stream.once) return
    await new Promise<void>((resolve) => {
      const proceed = () => {
        closed?.removeEventListener('abort', proceed)
        resolve()
      }
      stream.once!('drain', proceed)
      closed?.addEventListener('abort', proceed)
    })
  }
  return {
    write(message) {
      last = last.then(() => put(message))
      return last
    },
    flush: () => last
  }
}
