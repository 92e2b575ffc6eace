/** Returns the variables of a URI template (RFC 6570), without duplicates, in order. */
export function templateVariables(template: string): string[] {
  const names = [...template.matchAll(/\{([^{}]*)\}/g)].flatMap(([, expression = '']) =>
    expression
      .replace(/^[+#./;?&]/, '')
      .split(',')
      .map((name) => name.replace(/(\*|:\d+)$/, ''))
  )
  return [...new Set(names.filter(Boolean))]
}

const reserved = (text: string): string => encodeURI(text).replaceAll('%25', '%')
const strict = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`)

interface Operator {
  readonly first: string
  readonly between: string
  readonly isNamed: boolean
  readonly encode: (text: string) => string
}

const plain: Operator = { first: '', between: ',', isNamed: false, encode: strict }
const operators: Readonly<Record<string, Operator>> = {
  '+': { ...plain, encode: reserved },
  '#': { ...plain, first: '#', encode: reserved },
  '.': { ...plain, first: '.', between: '.' },
  '/': { ...plain, first: '/', between: '/' },
  ';': { first: ';', between: ';', isNamed: true, encode: strict },
  '?': { first: '?', between: '&', isNamed: true, encode: strict },
  '&': { first: '&', between: '&', isNamed: true, encode: strict }
}

/** Expands a template; variables without a value are omitted. */
export const expandTemplate = (template: string, values: Readonly<Record<string, string>>): string =>
  template.replace(/\{([^{}]*)\}/g, (_whole, expression: string) => {
    const operator = operators[expression[0] ?? ''] ?? plain
    const names = (operator === plain ? expression : expression.slice(1)).split(',')
    const parts = names.flatMap((each) => part(each, operator, values))
    return parts.length > 0 ? operator.first + parts.join(operator.between) : ''
  })

function part(each: string, { isNamed, encode }: Operator, values: Readonly<Record<string, string>>): string[] {
  const [, name = '', , length] = /^(.*?)(\*|:(\d+))?$/.exec(each) ?? []
  const value = Object.hasOwn(values, name) ? values[name]! : ''
  if (value === '') return []
  const text = encode(length === undefined ? value : Array.from(value).slice(0, Number(length)).join(''))
  return [isNamed ? `${name}=${text}` : text]
}
