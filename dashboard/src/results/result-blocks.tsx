import { useSignal } from '@preact/signals'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { bytes } from '../format.ts'
import { printJson } from '../form/json.ts'
import { safeLink, type Block } from './blocks.ts'
import { JsonTree } from './json-tree.tsx'

/** Characters of text shown before Show all. */
const SHOWN_TEXT = 100_000

function TextBlock({ text }: { text: string }) {
  const isAll = useSignal(false)
  const isCut = text.length > SHOWN_TEXT && !isAll.value
  return (
    <>
      <pre class="code wrap" tabIndex={0}>
        <UntrustedText text={isCut ? text.slice(0, SHOWN_TEXT) : text} />
      </pre>
      {isCut && (
        <button type="button" class="btn sm" onClick={() => (isAll.value = true)}>
          Show all {bytes(text.length)}
        </button>
      )}
    </>
  )
}

const fileName = (uri: string): string => /([\w.-]+)\/?(?:[?#].*)?$/.exec(uri)?.[1] ?? 'download'

function save(base64: string, mimeType: string, name: string): void {
  const content = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
  // octet-stream: the upstream's media type must never be opened as a page of this origin
  const url = URL.createObjectURL(new Blob([content], { type: 'application/octet-stream' }))
  const anchor = document.createElement('a')
  anchor.href = url
  anchor.download = mimeType === 'application/pdf' && !name.includes('.') ? `${name}.pdf` : name
  anchor.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}

function FileBlock({ base64, mimeType, bytes: size, uri }: Extract<Block, { kind: 'file' }>) {
  const failure = useSignal('')
  const onClick = () => {
    try {
      save(base64, mimeType, fileName(uri))
    } catch {
      failure.value = 'Invalid base64, so it cannot be saved.'
    }
  }
  return (
    <div class="row start">
      <span>
        <code>
          <UntrustedText text={mimeType} />
        </code>
        , {bytes(size)}
      </span>
      <button type="button" class="btn sm" onClick={onClick}>
        Download
      </button>
      {failure.value && (
        <span class="err" role="alert">
          {failure.value}
        </span>
      )}
    </div>
  )
}

function LinkBlock({ uri, name, details }: Extract<Block, { kind: 'link' }>) {
  const href = safeLink(uri)
  return (
    <p class="linkblock">
      <span class="muted">Resource link</span> {name && <UntrustedText text={name} />}{' '}
      {href ? (
        <a href={href} target="_blank" rel="noopener noreferrer">
          <UntrustedText text={uri} />
        </a>
      ) : (
        <code>
          <UntrustedText text={uri} />
        </code>
      )}
      {details.length > 0 && (
        <span class="muted">
          {' '}
          <UntrustedText text={details.join(', ')} />
        </span>
      )}
    </p>
  )
}

/** Part of a result. */
export function BlockView({ block }: { block: Block }) {
  switch (block.kind) {
    case 'text':
      return <TextBlock text={block.text} />
    case 'json':
      return <JsonTree value={block.value} label="JSON" />
    case 'image':
      return (
        <figure class="media">
          <img src={block.url} alt={`Returned image, ${block.mimeType}`} />
          <figcaption class="muted">
            {block.mimeType}, {bytes(block.bytes)}
          </figcaption>
        </figure>
      )
    case 'audio':
      return (
        <figure class="media">
          <audio controls src={block.url} />
          <figcaption class="muted">
            {block.mimeType}, {bytes(block.bytes)}
          </figcaption>
        </figure>
      )
    case 'file':
      return <FileBlock {...block} />
    case 'link':
      return <LinkBlock {...block} />
    case 'other':
      return (
        <>
          <p class="muted">Unknown content type</p>
          <pre class="code wrap" tabIndex={0}>
            <UntrustedText text={printJson(block.value)} />
          </pre>
        </>
      )
  }
}

export const BlockList = ({ blocks }: { blocks: readonly Block[] }) => (
  <>
    {blocks.map((block, at) => (
      <BlockView key={at} block={block} />
    ))}
  </>
)
