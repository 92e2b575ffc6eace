/** Shorter values would be found by chance in text that has nothing to do with them. */
const MIN_LENGTH = 6

/** As JSON text and as part of a URL a secret looks different. */
const forms = (secret: string) => [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)]

/** Takes known secrets out of text that is shown or logged (security page 4, "Upstream answers"). */
export function createRedactor(secrets: readonly string[]): (text: string) => string {
  const known = [...new Set(secrets.filter((secret) => secret.length >= MIN_LENGTH).flatMap(forms))]
  const longestFirst = known.sort((a, b) => b.length - a.length)
  return (text) => longestFirst.reduce((shown, secret) => shown.replaceAll(secret, '***'), text)
}

interface Secretive {
  readonly bearer_token?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
  readonly oauth_client_secret?: string
}

/** Every value of a server's configuration that nobody else should read; of a header also what follows its scheme. */
export function secretsIn(config: Secretive, url: string | undefined): string[] {
  const { bearer_token: token, headers = {}, env = {}, oauth_client_secret: client } = config
  const values = Object.values(headers).flatMap((value) => [value, value.replace(/^\S+\s+/, '')])
  const query = url !== undefined && URL.canParse(url) ? [...new URL(url).searchParams.values()] : []
  return [token ?? '', client ?? '', ...values, ...Object.values(env), ...query]
}
