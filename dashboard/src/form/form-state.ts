import { signal, type ReadonlySignal, type Signal } from '@preact/signals'
import { placeOf } from './problems.ts'
import { put, type Json, type Path } from './json.ts'

/** What a form is filled in with. Form and JSON show one value; the rest is about places of it. */
export interface FormState {
  readonly value: ReadonlySignal<Json | undefined>
  set(path: Path, next: Json | undefined): void
  /** The form of a place that was chosen by hand, where several would do. */
  chosen(path: Path): number | undefined
  choose(path: Path, index: number): void
  /** What the check, or the gateway, said of places. */
  readonly problems: Signal<ReadonlyMap<string, string>>
  /** Places whose text is no JSON, with the reason: nothing is sent while there are any. */
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
      value.value = put(value.value, path, next)
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
