/** Stand-in for `document`, which the build gives to the SDK. */

import { ofDocument } from './page.ts'

/** `document`, of which every property is read as by `ofDocument`. */
export const safeDocument = new Proxy({} as Document, {
  get: (_, name: keyof Document) => {
    const value: unknown = name === 'location' ? location : ofDocument(name)
    return typeof value === 'function' ? value.bind(document) : value
  },
})
