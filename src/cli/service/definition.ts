import { PRODUCT, TITLE } from '../../domain/product.ts'
import { escapeText } from '../../domain/text/text.ts'
import { usage } from '../io/failure.ts'

/** Values of a service definition; all paths are absolute. */
export interface ServiceOptions {
  /** The program and its arguments, without a shell. */
  readonly command: readonly string[]
  /** PATH of the service, through which stdio servers find `npx`, `uvx` and the like. */
  readonly path: string
  /** File with settings, one `NAME=value` per line. */
  readonly settingsFile: string
}

/** Options of a launchd agent, which reads no settings file and writes its own log. */
export interface LaunchAgentOptions extends Omit<ServiceOptions, 'settingsFile'> {
  readonly logFile: string
}

/** Name of the systemd unit. */
export const UNIT = `${PRODUCT}.service`
/** Label of the launchd agent. */
export const LABEL = PRODUCT

/**
 * Returns a value of a definition unchanged. Throws a usage Failure for control characters and separators of lines: they
 * would begin another line of a unit, and a property list cannot contain them.
 */
function oneLine(text: string): string {
  if (/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u.test(text))
    throw usage(`a service cannot have control characters in its command or paths: "${escapeText(text, 200)}"`)
  return text
}

/** Quotes one word of a unit file (systemd.syntax(7), systemd.service(5) COMMAND LINES): `%` and `$` are literal. */
const word = (text: string) =>
  `"${oneLine(text).replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%').replaceAll('$', '$$$$')}"`
/** Quotes an assignment of `Environment=`, where `$` has no meaning. */
const assignment = (text: string) =>
  `"${oneLine(text).replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%')}"`

const unit = (
  { command, path, settingsFile }: ServiceOptions,
  target: string,
  after: readonly string[],
  more: readonly string[]
) => `# Written by \`${PRODUCT} service install\`; settings belong into ${oneLine(settingsFile)}
[Unit]
Description=${TITLE}, a gateway for MCP servers
${after.map((line) => `${line}\n`).join('')}
[Service]
ExecStart=${command.map(word).join(' ')}
Environment=${assignment(`PATH=${path}`)}
EnvironmentFile=-${settingsFile.replaceAll('%', '%%')}
Restart=on-failure
RestartSec=2
# the gateway drains first, and ends its stdio servers itself
KillMode=mixed
TimeoutStopSec=60
NoNewPrivileges=yes
${more.map((line) => `${line}\n`).join('')}
[Install]
WantedBy=${target}
`

/** Returns the unit of one user's service (systemd.unit(5)). */
export const userUnit = (options: ServiceOptions): string => unit(options, 'default.target', [], [])

/**
 * Returns the unit of a system service: a user of its own without a home, and a state folder that nobody else reads
 * (systemd.exec(5)).
 */
export const systemUnit = (options: ServiceOptions): string =>
  unit(
    options,
    'multi-user.target',
    ['Wants=network-online.target', 'After=network-online.target'],
    [
      'DynamicUser=yes',
      `StateDirectory=${PRODUCT}`,
      'StateDirectoryMode=0700',
      `Environment=HOME=/var/lib/${PRODUCT} TOWPATH_DATA_DIR=/var/lib/${PRODUCT}/data`,
      `WorkingDirectory=/var/lib/${PRODUCT}`,
      'ProtectSystem=strict',
      'ProtectHome=yes',
      'PrivateTmp=yes',
      'PrivateDevices=yes',
      'ProtectKernelTunables=yes',
      'ProtectControlGroups=yes',
      'RestrictSUIDSGID=yes',
      'LockPersonality=yes'
    ]
  )

const xml = (text: string) => oneLine(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
const string = (text: string) => `<string>${xml(text)}</string>`

/** Returns the property list of a launchd agent (launchd.plist(5)): starts at login, and again after a failure. */
export const launchAgent = ({ command, path, logFile }: LaunchAgentOptions): string =>
  `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>${string(LABEL)}
  <key>ProgramArguments</key>
  <array>
${command.map((argument) => `    ${string(argument)}\n`).join('')}  </array>
  <key>EnvironmentVariables</key>
  <dict>
    <key>PATH</key>${string(path)}
  </dict>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>ExitTimeOut</key><integer>60</integer>
  <key>StandardOutPath</key>${string(logFile)}
  <key>StandardErrorPath</key>${string(logFile)}
</dict>
</plist>
`
