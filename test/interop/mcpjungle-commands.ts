import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export interface Command {
  readonly args: readonly string[]
  /** Expected exit code. Default 0. */
  readonly exit?: number
  /** Expected in its output. */
  readonly says?: RegExp
}

const token = '18-or-more-characters-of-a-token'

const everyday = (url: string, files: { readonly server: string; few: string; fewer: string }): Command[] => [
  { args: ['version'] },
  { args: ['register', '--name', 'web', '--url', url, '--description', 'D'], says: /web registered successfully/ },
  { args: ['register', '--name', 'web', '--url', url], exit: 1, says: /already exists/ },
  { args: ['register', '--force', '-c', files.server], says: /web registered successfully/ },
  { args: ['list', 'servers'], says: /web/ },
  { args: ['list', 'tools'], says: /web__echo/ },
  { args: ['list', 'tools', '--server', 'web'], says: /web__echo/ },
  { args: ['list', 'prompts'], says: /web__greet/ },
  { args: ['list', 'resources'], says: /fixture:\/\/note/ },
  { args: ['usage', 'web__echo'], says: /text/ },
  { args: ['invoke', 'web__echo', '--input', '{"text":"hello"}'], says: /hello/ },
  { args: ['disable', 'tool', 'web__echo'] },
  { args: ['invoke', 'web__echo', '--input', '{"text":"hello"}'], exit: 1 },
  { args: ['enable', 'tool', 'web__echo'] },
  { args: ['disable', 'prompt', 'web__greet'] },
  { args: ['enable', 'prompt', 'web__greet'] },
  { args: ['disable', 'server', 'web'] },
  { args: ['enable', 'server', 'web'] },
  { args: ['get', 'prompt', 'web__greet', '--arg', 'who=you'], says: /Greet you/ },
  { args: ['get', 'resource', 'fixture://note'], says: /note/ },
  { args: ['get', 'resource', 'fixture://note', '--read'], says: /a note/ },
  { args: ['create', 'group', '-c', files.few], says: /few created successfully/ },
  { args: ['list', 'groups'], says: /few/ },
  { args: ['get', 'group', 'few'], says: /web__echo/ },
  { args: ['update', 'group', '-c', files.fewer], says: /few updated successfully/ },
  { args: ['update', 'group', '-c', files.fewer], says: /No changes detected/ },
  { args: ['delete', 'group', 'few'] },
  // exits with 0 in MCPJungle
  { args: ['delete', 'group', 'few'], exit: 1 },
  { args: ['deregister', 'web'] }
]

const administration: readonly Command[] = [
  { args: ['create', 'user', 'ann'], says: /'ann' created successfully/ },
  { args: ['create', 'user', 'bob', '--access-token', `${token}-bob`], says: /'bob' created successfully/ },
  { args: ['list', 'users'], says: /ann[^]*bob/ },
  { args: ['update', 'user', 'bob', '--access-token', `${token}-bob-2`] },
  { args: ['create', 'mcp-client', 'all', '--allow', '*', '--description', 'D'] },
  { args: ['create', 'mcp-client', 'some', '--allow', 'web, other', '--access-token', `${token}-some`] },
  { args: ['create', 'mcp-client', 'none'] },
  { args: ['list', 'mcp-clients'], says: /web/ },
  { args: ['update', 'mcp-client', 'all', '--access-token', `${token}-all`] },
  { args: ['delete', 'mcp-client', 'some'] },
  { args: ['delete', 'user', 'bob'] },
  { args: ['create', 'user', 'eve', '--access-token', `${token}-eve`] },
  { args: ['login', `${token}-eve`], says: /eve/ }
]

/** Returns the commands of a mode in running order; their files are written into `folder`. */
export async function commandsOf(mode: string, url: string, folder: string): Promise<readonly Command[]> {
  const file = async (name: string, content: object) => {
    await writeFile(join(folder, name), JSON.stringify(content))
    return join(folder, name)
  }
  const files = {
    server: await file('web.json', { name: 'web', transport: 'streamable_http', url, session_mode: 'stateful' }),
    few: await file('few.json', { name: 'few', description: 'Few tools', included_tools: ['web__echo'] }),
    fewer: await file('fewer.json', { name: 'few', description: 'Fewer', included_servers: ['web'] })
  }
  const ordinary = everyday(url, files)
  return mode === 'enterprise' ? [{ args: ['init-server'] }, ...ordinary, ...administration] : ordinary
}
