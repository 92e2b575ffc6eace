/**
 * Forms of well-known tokens, by the service that issues them: a fixed beginning, then a single run of characters. Such a
 * pattern either matches the whole run or gives up within its minimum, so a search takes time in proportion to the text.
 */
const forms: Readonly<Record<string, string>> = {
  Towpath: String.raw`twp_[\w-]{8,}`,
  'Anthropic, OpenAI, Stripe': String.raw`(?:sk|pk|rk)[-_][\w-]{16,}`,
  'Stripe webhooks': '(?:whsec|ephkey)_[A-Za-z0-9]{20,}',
  GitHub: String.raw`(?:gh[opsur]_|github_pat_)\w{16,}`,
  GitLab: String.raw`gl(?:pat|ptt|dt|rt|rtr|ft|soat|imt|agent|oas|ffct|cbt)-[\w-]{16,}(?:\.[\w-]+)*`,
  AWS: '(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16,}',
  Slack: String.raw`(?:xox[abceoprs]|xapp)[-_.][\w.-]{10,}`,
  Google: String.raw`(?:AIza[\w-]{30,}|ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,})`,
  npm: 'npm_[A-Za-z0-9]{30,}',
  PyPI: String.raw`pypi-[\w-]{50,}`,
  'Hugging Face': '(?:hf|api_org)_[A-Za-z0-9]{30,}',
  Docker: String.raw`dckr_(?:pat|oat)_[\w-]{20,}`,
  DigitalOcean: 'do[opr]_v1_[0-9a-f]{40,}',
  SendGrid: String.raw`SG\.[\w-]{16,}(?:\.[\w-]+)?`,
  Vault: String.raw`hv[bsr]\.[\w-]{20,}`,
  Shopify: 'shp(?:at|ca|pa|ss)_[0-9A-Fa-f]{30,}',
  Databricks: 'dapi[0-9a-f]{32}',
  Linear: 'lin_(?:api|oauth)_[A-Za-z0-9]{30,}',
  Notion: '(?:secret|ntn)_[A-Za-z0-9]{40,}',
  Atlassian: 'AT(?:ATT3|CTT3|SATT)[A-Za-z0-9_=-]{50,}',
  Grafana: String.raw`gl(?:sa|c)_[\w=+/]{30,}`,
  'Groq, xAI, Tavily, Replicate, Perplexity': String.raw`(?:gsk_|xai-|tvly-|r8_|pplx-)[\w-]{16,}`,
  'Supabase, PlanetScale': String.raw`(?:sbp|pscale_tkn|pscale_pw)_[\w.-]{30,}`,
  Telegram: String.raw`\d{8,10}:[\w-]{35}(?![\w-])`,
  age: 'AGE-SECRET-KEY-1[0-9A-Z]{50,}',
  // `{"` in base64url: the header of a JSON Web Token
  JWT: String.raw`eyJ[\w-]{17,}(?:\.[\w-]+){0,4}`
}

/** Matches a well-known token that no letter or digit precedes; to be compiled with further flags. */
export const tokenForm = `(?<![A-Za-z0-9])(?:${Object.values(forms).join('|')})`

/** Matches a private key in PEM, to the end of the text if its end is missing; its lines may be separated by `\n` in JSON. */
export const privateKeyForm = String.raw`-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,60}-----|$)`

/** Matches the user information of a URL in a text, without its `@`; the slashes may be escaped as in JSON. */
export const userInformation = String.raw`(?<=:\\?/\\?/)[^\s/?#"'<>\\]+(?=@)`
