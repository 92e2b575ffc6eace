import { VERSION } from '../domain/version.ts'

const minor = (version: string) => version.split('.').slice(0, 2).join('.')

/** Whether a gateway of this version and this command may understand each other wrongly: what to say then. */
export const skewWith = (gateway: string): { readonly message: string; readonly hint: string } | undefined =>
  minor(gateway) === minor(VERSION)
    ? undefined
    : {
        message: `this command is version ${VERSION}, the gateway ${gateway}`,
        hint: 'use the command of the gateway’s version'
      }
