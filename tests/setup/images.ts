/** Shares the images of the compose file between the tests of a run. */

import { shareImages } from '../support/docker/images.ts'
import { unmet } from '../support/requirements.ts'

export default function setUp(): (() => Promise<void>) | undefined {
  return unmet('docker') === undefined ? shareImages() : undefined
}
