import { signal, type ReadonlySignal, type Signal } from '@preact/signals'
import { placeOf } from './problems.ts'
import { setAt, type Json, type Path } from './json.ts'

/** Value of a form and the state of its places. The form and the JSON view edit the same value. */
export interface FormState {
  readonly value: ReadonlySignal<Json | undefined>
  set(path: Path, next: Json | undefined): void
  /** Variant chosen by hand for a place that allows several. */
  chosen(path: Path): number | undefined
  choose(path: Path, index: number): void
  /** Errors by place, from validation or from the gateway. */
  readonly problems: Signal<ReadonlyMap<string, string>>
  /** Parse errors by place, for text that is not JSON. The form cannot be sent while there are any. */
  readonly broken: ReadonlySignal<ReadonlyMap<string, string>>
  setBroken(path: Path, reason: string | undefined): void
}

const withEntry = <T>(map: ReadonlyMap<string, T>, key: string, value: T | undefined): ReadonlyMap<string, T> => {
  const next = new Map(map)
  if (value === undefined) next.delete(key)
  else next.set(key, value)
  return next
}

export function createFormState(initial: Json | undefined): FormState {
  const value = signal(initial)
  const chosen = signal<ReadonlyMap<string, number>>(new Map())
  const problems = signal<ReadonlyMap<string, string>>(new Map())
  const broken = signal<ReadonlyMap<string, string>>(new Map())
  return {
    value,
    set(path, next) {
      value.value = setAt(value.value, path, next)
      const place = placeOf(path)
      if (problems.value.has(place)) problems.value = withEntry(problems.value, place, undefined)
    },
    chosen: (path) => chosen.value.get(placeOf(path)),
    choose(path, index) {
      chosen.value = withEntry(chosen.value, placeOf(path), index)
    },
    problems,
    broken,
    setBroken(path, reason) {
      const place = placeOf(path)
      if (broken.value.get(place) !== reason) broken.value = withEntry(broken.value, place, reason)
    }
  }
}
