/** Settings as the tunnel reads them, printed by the tunnel itself: only its policies know which of their values are valid. */

import type { ShownSettings } from './settings-reader.ts'

/** A sentence for each problem, and the values unless there are problems. */
export type DescribedSettings = {
  problems: string[]
  values?: {
    /** Without secrets. */
    shown: ShownSettings
    port: number
    adminPort: number
    /** Networks of trusted peers. */
    edge: string[]
  }
}
