import { fold } from './tokens.ts'

/** Words of general English and of software that mean the same in a request and in a description, a group a line */
const groups = `
  create add new make insert
  delete remove erase drop
  get fetch read retrieve obtain load
  find search look lookup query locate
  list show display view enumerate browse
  update edit modify change alter adjust
  set assign configure
  send post deliver submit
  message chat mail
  start begin launch run execute
  stop end terminate halt cancel kill
  calculate compute evaluate
  convert translate transform
  reserve book schedule
  buy purchase order
  picture image photo
  near nearby close around
  price cost fee
  job task
  folder directory
  user account person member
  repository repo project
  issue ticket bug
  merge combine join
  copy duplicate clone
  move rename transfer
  upload import
  download export
  check verify validate test
  analyze analyse inspect examine
  count number total
  sum add plus
  subtract minus difference
  multiply product times
  average mean
  file document
  date day
  movie film
  song music track
  car vehicle
  house home property
  money payment cash
  largest maximum max highest biggest
  smallest minimum min lowest
  location place city
  direction route path
  error failure exception
  log history record
  notify alert remind
  enable activate
  disable deactivate
  permission access role
  comment note remark
  write save store
`

/** Other folded terms that mean the same, by folded term. */
export type Synonyms = ReadonlyMap<string, ReadonlySet<string>>

/** Reads groups of words, one group a line. */
function readGroups(text: string): Synonyms {
  const found = new Map<string, Set<string>>()
  for (const line of text.trim().split('\n')) {
    const terms = line.trim().split(' ').map(fold)
    for (const term of terms) {
      const others = found.get(term) ?? new Set<string>()
      for (const other of terms) if (other !== term) others.add(other)
      found.set(term, others)
    }
  }
  return found
}

export const synonyms: Synonyms = readGroups(groups)
