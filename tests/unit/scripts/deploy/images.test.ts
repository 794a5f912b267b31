/** Decisions of `npm run deploy` about images: the tag, the target of a rollback, and what is kept. */

import { describe, expect, it } from 'vitest'
import {
  buildTag,
  chooseRollback,
  currentTag,
  expiredTags,
  KEPT_DEPLOYS,
} from '../../../../scripts/deploy/images.ts'

const [FIRST, SECOND, THIRD] = ['20261122T100000-aaa', '20261122T110000-bbb', '20261122T120000-ccc']

/** Images of both services by tag, and the tag whose images run. */
function deployed(tags: Record<string, string>, running: string) {
  const images = ['tunnel', 'web'].flatMap((service) =>
    Object.entries(tags).map(([tag, id]) => ({ service, tag, id: `${service}-${id}` })),
  )
  return { images, running: { tunnel: `tunnel-${running}`, web: `web-${running}` } }
}

describe('buildTag', () => {
  it('begins with the time in UTC and ends with the revision, in characters that a tag may have', () => {
    expect(buildTag(new Date('2026-11-22T17:05:09.123Z'), 'v1.2+shop/x')).toBe('20261122T170509-v1.2-shop-x')
    expect(buildTag(new Date(0), undefined)).toBe('19700101T000000')
    expect(buildTag(new Date(0), 'r'.repeat(300))).toHaveLength('19700101T000000-'.length + 100)
  })
})

describe('currentTag', () => {
  it('returns the newest deploy whose images run', () => {
    expect(currentTag(deployed({ [FIRST]: 'a', [SECOND]: 'b', [THIRD]: 'b', latest: 'b' }, 'b'))).toBe(THIRD)
  })

  it('returns nothing for images that were not deployed', () => {
    expect(currentTag(deployed({ [FIRST]: 'a', latest: 'b' }, 'b'))).toBeUndefined()
  })
})

describe('chooseRollback', () => {
  it('returns the deploy before the running one', () => {
    expect(chooseRollback(deployed({ [FIRST]: 'a', [SECOND]: 'b', [THIRD]: 'c' }, 'c'))).toBe(SECOND)
    expect(chooseRollback(deployed({ [FIRST]: 'a', [SECOND]: 'b', [THIRD]: 'c' }, 'b'))).toBe(FIRST)
  })

  it('skips deploys of the same images, for example after changed settings', () => {
    expect(chooseRollback(deployed({ [FIRST]: 'a', [SECOND]: 'b', [THIRD]: 'b' }, 'b'))).toBe(FIRST)
  })

  it('returns the last deploy when another image was started since', () => {
    expect(chooseRollback(deployed({ [FIRST]: 'a', [SECOND]: 'b', latest: 'x' }, 'x'))).toBe(SECOND)
  })

  it.each([
    ['nothing was deployed', deployed({ latest: 'a' }, 'a')],
    ['the first deploy runs', deployed({ [FIRST]: 'a' }, 'a')],
  ])('throws that there is nothing to roll back to when %s', (_, state) => {
    expect(() => chooseRollback(state)).toThrow(
      'nothing to roll back to: this machine has no image of an earlier deploy. Check out the earlier revision and run npm run deploy.',
    )
  })

  it('names the missing image and the revision to check out', () => {
    const { images, running } = deployed({ [FIRST]: 'a', [SECOND]: 'b' }, 'b')
    const left = images.filter(({ service, tag }) => service === 'tunnel' || tag !== FIRST)
    expect(() => chooseRollback({ images: left, running })).toThrow(
      `the image of web of the deploy ${FIRST} is gone; docker image prune --all removes such images. Check out aaa and run npm run deploy.`,
    )
  })
})

describe('expiredTags', () => {
  it(`keeps the last ${KEPT_DEPLOYS} deploys, and tags that are not its own`, () => {
    const tags = Array.from({ length: KEPT_DEPLOYS + 2 }, (_, n) => `2026112${n}T100000-r`)
    const all = Object.fromEntries([...tags, 'latest', 'mine'].map((tag) => [tag, tag]))
    expect(expiredTags(deployed(all, tags.at(-1) ?? ''), tags.at(-1) ?? '').sort()).toEqual(tags.slice(0, 2))
  })

  it('keeps one tag of the same images, so that changed settings do not push out what a rollback needs', () => {
    const tags = Object.fromEntries(
      Array.from({ length: 9 }, (_, n) => [`2026112${n}T100000-r`, n < 1 ? 'a' : 'b']),
    )
    const last = '20261128T100000-r'
    expect(expiredTags(deployed(tags, 'b'), last)).not.toContain('20261120T100000-r')
    expect(expiredTags(deployed(tags, 'b'), last)).toHaveLength(7)
  })

  it('removes the deploys that were rolled back, so that a later rollback does not return to them', () => {
    expect(expiredTags(deployed({ [FIRST]: 'a', [SECOND]: 'b', [THIRD]: 'c' }, 'a'), FIRST)).toEqual([
      THIRD,
      SECOND,
    ])
  })
})
