import { checkUnique, JsonError, members, valueOf, type Member } from '../../json/json.ts'
import { requestText } from '../../protocol/jsonrpc-text.ts'
import { paramsFragment, readMessage, type Message, type MessageLimits } from '../../protocol/jsonrpc.ts'

/** Arguments of `call_tool` or `read_tool` that name no call; the message tells a model how to do better. */
export class InnerCallError extends Error {}

const usage = 'it takes "name", a string, and "arguments", an object with the arguments of that tool'

/** Name and arguments of the tool that is meant. */
interface InnerCall {
  readonly name: string
  /** JSON text of an object; undefined if absent */
  readonly args: string | undefined
}

function readMembers(text: string): readonly Member[] {
  try {
    const found = members(text)
    checkUnique(found)
    return found
  } catch (error) {
    if (error instanceof JsonError) throw new InnerCallError(`${usage}, each once`)
    throw error
  }
}

/** Reads the arguments of `call_tool` or `read_tool`. Throws InnerCallError. */
function readInnerCall(text: string | undefined): InnerCall {
  if (!text?.startsWith('{')) throw new InnerCallError(usage)
  const found = readMembers(text)
  const other = found.find(({ key }) => key !== 'name' && key !== 'arguments')
  if (other) throw new InnerCallError(`${usage}; ${JSON.stringify(other.key.slice(0, 100))} belongs into "arguments"`)
  const name = valueOf(text, found, 'name')
  const args = valueOf(text, found, 'arguments')
  if (!name?.startsWith('"')) throw new InnerCallError(usage)
  if (args !== undefined && args !== 'null' && !args.startsWith('{')) throw new InnerCallError(usage)
  return { name: JSON.parse(name) as string, args: args === 'null' ? undefined : args }
}

/**
 * Returns the request that calls a tool directly, from one that calls it through `call_tool` or `read_tool`: with the same
 * id and `_meta`, and the arguments as they were sent. Throws InnerCallError, or ProtocolError as for a direct call.
 */
export function innerRequest(message: Message, limits: MessageLimits): { message: Message; name: string } {
  const { id, text, paramMembers } = message
  const { name, args } = readInnerCall(valueOf(text, paramMembers, 'arguments'))
  const params = paramsFragment(message, { name: JSON.stringify(name), arguments: args ?? null })
  const meta = valueOf(text, paramMembers, '_meta')
  const withMeta = meta === undefined ? params : `${params},"_meta":${meta}`
  return { message: readMessage(requestText(id, 'tools/call', `{${withMeta}}`), limits), name }
}
