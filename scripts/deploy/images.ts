/** Tags of deployed images: which image a rollback starts, and which images are kept. */

import { UserError } from '../environment.ts'

/** Image of a service as the engine lists it. A deployment gives the images of all services the same tag. */
type TaggedImage = { service: string; tag: string; id: string }

/** Image IDs of the running containers by service. */
type RunningImages = Readonly<Record<string, string>>

export type Deployed = {
  images: readonly TaggedImage[]
  running: RunningImages
}

/** Deployments with different images that are kept, the running one included. */
export const KEPT_DEPLOYS = 4

const DEPLOY_TAG = /^\d{8}T\d{6}(?:-(.+))?$/
const MAX_REVISION = 100 // a tag has at most 128 characters

/** Builds the tag of a deployment: its time, so that tags sort by age, and the revision, which sources without Git do not have. */
export function buildTag(time: Date, revision: string | undefined): string {
  const stamp = time.toISOString().replace(/[-:]/g, '').slice(0, 'YYYYMMDDThhmmss'.length)
  return revision ? `${stamp}-${revision.replace(/[^\w.-]/g, '-').slice(0, MAX_REVISION)}` : stamp
}

/** Returns the tag of the running deployment; `undefined` when something else was started since. */
export function currentTag(deployed: Deployed): string | undefined {
  return deployTags(deployed).find((tag) => isRunning(deployed, tag))
}

/** Returns the tag of the last deployment before the running one that had other images. Throws a `UserError` when there is none. */
export function chooseRollback(deployed: Deployed): string {
  const current = currentTag(deployed)
  const earlier = deployTags(deployed).filter((tag) => current === undefined || tag < current)
  const target = earlier.find((tag) => !isRunning(deployed, tag))
  if (target === undefined)
    throw new UserError(
      'nothing to roll back to: this machine has no image of an earlier deploy. Check out the earlier revision and run npm run deploy.',
    )
  const missing = Object.keys(deployed.running).find((service) => !imageOf(deployed, service, target))
  if (missing !== undefined)
    throw new UserError(
      `the image of ${missing} of the deploy ${target} is gone; docker image prune --all removes such images. Check out ${revisionOf(target)} and run npm run deploy.`,
    )
  return target
}

/**
 * Returns the tags to remove once `current` runs: those of later deployments, which it rolled back, those whose images a newer tag has too, as
 * after changed settings, and those beyond the bound.
 */
export function expiredTags(deployed: Deployed, current: string): string[] {
  const tags = deployTags(deployed)
  const seen = new Set<string>()
  const isOther = (tag: string) => {
    const images = deployed.images.filter((image) => image.tag === tag)
    const ids = images
      .map(({ id }) => id)
      .sort()
      .join()
    const isNew = !seen.has(ids)
    seen.add(ids)
    return isNew
  }
  const kept = tags.filter((tag) => tag <= current && isOther(tag)).slice(0, KEPT_DEPLOYS)
  return tags.filter((tag) => !kept.includes(tag))
}

/** Returns all tags of deployments, the newest first. */
function deployTags({ images }: Deployed): string[] {
  const tags = images.map(({ tag }) => tag).filter((tag) => DEPLOY_TAG.test(tag))
  return [...new Set(tags)].sort().reverse()
}

function isRunning(deployed: Deployed, tag: string): boolean {
  return Object.entries(deployed.running).every(([service, id]) => imageOf(deployed, service, tag) === id)
}

function imageOf({ images }: Deployed, service: string, tag: string): string | undefined {
  return images.find((image) => image.service === service && image.tag === tag)?.id
}

function revisionOf(tag: string): string {
  return DEPLOY_TAG.exec(tag)?.[1] ?? tag
}
