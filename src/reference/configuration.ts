import { settings, type Setting } from '../config/settings.ts'

const code = (value: string) => `\`${value}\``

function row({ variable, flag, file, fallback, otherwise, about }: Setting): string {
  const names = [code(variable), ...(file ? [code(`${variable}_FILE`)] : []), ...(flag ? [code(flag)] : [])]
  const standard = fallback === undefined ? (otherwise ?? 'none') : code(fallback)
  return `| ${names.join(', ')} | ${standard} | ${about} |`
}

/** Returns the text of docs/reference/configuration.md. */
export const configurationReference = (): string =>
  `# Configuration

Every setting is an environment variable; some are also flags of \`towpath start\`, which take precedence. An empty variable
counts as unset. A \`…_FILE\` variable names a file that contains the value; setting both forms is an error. An invalid value
stops the start with exit code 2 and one line that names the setting. Times are in milliseconds.

This page is generated from \`src/config/settings.ts\`.

<!-- prettier-ignore -->
| Setting | Default | Meaning |
|---|---|---|
${Object.values<Setting>(settings).map(row).join('\n')}
`
