import type { Cause } from '../domain/failures/cause.ts'
import { causeGroups } from '../domain/failures/causes.ts'

const escaped = (text: string) => text.replaceAll('|', '\\|').replaceAll(/<(\w+)>/g, '&lt;$1&gt;')
/** Escapes what Markdown would read as markup, except in code. */
const cell = (text: string) =>
  text
    .split(/(`[^`]*`)/)
    .map((part) => (part.startsWith('`') ? part : escaped(part)))
    .join('')

const row = ({ id, summary, nextStep }: Cause) => `| \`${id}\` | ${cell(summary)} | ${cell(nextStep)} |`

const section = ([title, group]: [string, readonly Cause[]]) => `## ${title}

<!-- prettier-ignore -->
| Cause | What happened | Next step |
|---|---|---|
${group.map(row).join('\n')}`

/** Returns the text of docs/how-to/troubleshooting.md. */
export const troubleshootingGuide = (): string =>
  `# A server does not connect

When a server cannot be added, refreshed or called, the gateway shows the line of its output that says best why, and the
next step if it knows the cause:

\`\`\`
$ towpath register issues -- npx -y @example/does-not-exist
error: server "issues": the process exited with code 1: npm error 404 Not Found - GET https://registry.npmjs.org/@example%2fdoes-not-exist
hint: The npm registry has no such package. Check the name of the package; a private package needs a login in \`~/.npmrc\` of the gateway.
\`\`\`

The dashboard shows the same beside the failed server. REST errors have the members \`cause\`, \`summary\` and \`next_step\`;
administrators also get that line, and the last 20 lines of stderr in \`stderr\`, without the secrets of the server. The Log tab of a
server in the dashboard has more lines, and **Test connection** tries again.

To add the server although it does not answer yet, save it disabled: **Save anyway, disabled** in the dashboard, or
\`towpath register --save-disabled\`. Enable it once the cause is gone: the gateway then reads its lists.

This page is generated from the source.

${Object.entries(causeGroups).map(section).join('\n\n')}
`
